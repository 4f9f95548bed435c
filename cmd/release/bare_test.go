package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// asked is what a new user's client asks for first, with what the answers have.
var asked = []struct {
	what, language, code, want string // no language: initialize
}{
	{"initialize", "", "", `"name":"coderunner","version":"` + testVersion + `"`},
	{"a Python plot", "python", `# /// script
# dependencies = ["plotly==6.3.0"]
# ///
import plotly.graph_objects as go
go.Figure(go.Scatter(y=[2, 3, 5, 7], mode="markers"))`, `"mimeType":"application/vnd.plotly.v1+json"`},
	{"TypeScript with zod", "typescript", `import { z } from "npm:zod@4.1.12"; console.log(z.number().parse(42))`, `stdout:\n42`},
	{"a bash script", "bash", `seq 4 | paste -sd+ | bc`, `stdout:\n10`},
}

// converse starts a server as a client does, asks for everything, and logs the times.
func converse(t *testing.T, how string, cmd *exec.Cmd) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var took strings.Builder
	lines := bufio.NewReader(out)
	for _, ask := range asked {
		text := initialize
		if ask.language != "" {
			text = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":%q,"code":%s}}}`+"\n", ask.language, jsonText(t, ask.code))
		}
		_, _ = io.WriteString(in, text) // whose failure is one to read, too
		answer, err := lines.ReadString('\n')
		for err == nil && !strings.Contains(answer, `"id":1`) { // a notification
			answer, err = lines.ReadString('\n')
		}
		if err != nil || !strings.Contains(answer, ask.want) || strings.Contains(answer, `"isError":true`) {
			t.Errorf("%s, %s: %v\n%.2000s", how, ask.what, err, answer)
		}
		fmt.Fprintf(&took, ", %s after %.1f s", ask.what, time.Since(begun).Seconds())
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil || t.Failed() {
		t.Errorf("%s: %v\n%s", how, err, &errs)
	}
	t.Log(how + took.String())
}

// TestBareMachines tries README.md's lines on machines that have nothing but the tool of
// each, busybox and certificates, as a user who has nothing in the home directory, with
// registries on loopback; and then the entry for a client without any network.
func TestBareMachines(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" || runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("long, and runs containers as root")
	}
	need(t, "apt-get", "dpkg-deb", "runc", "npm", "python3")
	r := releaseOfThis(t)
	files := httptest.NewServer(http.FileServerFS(os.DirFS(filepath.Join(r.out, "download"))))
	defer files.Close()
	readme := readFile(t, "../../README.md")
	curl := "curl -fsSL " + owner.Latest + `/install.sh \| sh`
	for _, tt := range []struct {
		tool  string
		bring func(t *testing.T, root string)
		env   string
		line  string // of README.md
		start string // by which the server starts, if that is another
		flag  string // of config
		keep  string // without which the entry needs a network
	}{
		{"nodejs", bringNPM, "NPM_CONFIG_REGISTRY=" + serveNPM(t, filepath.Join(r.out, "npm")), "npx -y " + owner.NPM, "", "--npx", ""},
		{"python3", bringUv, "UV_DEFAULT_INDEX=" + servePyPI(t, filepath.Join(r.out, "pypi"), r.PyPI), "uvx --from " + owner.PyPI + " coderunner", "", "--uvx", "uv tool install " + owner.PyPI},
		{"curl", nil, "CODE_RUNNER_DOWNLOADS=" + files.URL, curl, "~/.local/bin/coderunner", "", ""},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			if !strings.Contains(readme, "`"+tt.line+"`") {
				t.Errorf("README.md has no %s", tt.line)
			}
			c := newBareMachine(t, tt.tool)
			if tt.bring != nil {
				tt.bring(t, filepath.Join(c.dir, "rootfs"))
			}
			c.config.Env = append(c.config.Env, tt.env)
			c.online = true
			line := tt.line
			if tt.start != "" {
				install := strings.ReplaceAll(strings.ReplaceAll(line, `\|`, "|"), owner.Latest, files.URL)
				begun := time.Now()
				if out, err := c.run(t, "", install); err != nil {
					t.Fatalf("%s: %v\n%s", install, err, out)
				}
				t.Logf("%s after %.1f s", tt.line, time.Since(begun).Seconds())
				line = tt.start
			}
			converse(t, line, c.command(t, line))
			entry := ""
			if tt.flag != "" {
				entry = tt.flag + " "
			}
			if out, err := c.run(t, "", line+" config cursor "+entry+"--write --yes"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			command := strings.Join(entryIn(t, filepath.Join(c.dir, "rootfs/home/u/.cursor/mcp.json")), " ")
			converse(t, command, c.command(t, command))
			if tt.keep != "" {
				if out, err := c.run(t, "", tt.keep); err != nil {
					t.Fatalf("%s: %v\n%s", tt.keep, err, out)
				}
			}
			c.online = false
			converse(t, "offline, "+command, c.command(t, command))
		})
	}
}

// newBareMachine returns a machine with a package of Debian and what that depends on.
func newBareMachine(t *testing.T, tool string) *container {
	t.Helper()
	c := &container{dir: t.TempDir(), config: v1.Config{User: "1000:1000", WorkingDir: "/home/u", Entrypoint: []string{"/bin/sh", "-c"},
		Env:     []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/u", "NO_PROXY=127.0.0.1"},
		Volumes: map[string]struct{}{"/home/u": {}}}}
	root := filepath.Join(c.dir, "rootfs")
	debs, err := fetchDebian(t.Context(), t.TempDir(), runtime.GOARCH, "install", "-y", "--download-only", "--no-install-recommends", tool, "busybox-static")
	if err != nil {
		t.Fatal(err)
	}
	for _, deb := range debs {
		output(t, "dpkg-deb", "-x", deb, root)
	}
	for _, dir := range []string{"bin", "lib", "lib64"} { // newer versions of Debian have them in a package of its own
		_ = os.Symlink("usr/"+dir, filepath.Join(root, dir))
	}
	bin := filepath.Join(root, "bin")
	for command := range strings.FieldsSeq(output(t, filepath.Join(bin, "busybox"), "--list")) {
		_ = os.Symlink("busybox", filepath.Join(bin, command)) // unless the package has it
	}
	_ = os.Symlink("/bin/busybox", filepath.Join(root, "usr/bin/env")) // where scripts look for it
	for _, name := range []string{"etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"} {
		put(t, root, name, readFile(t, "/"+name))
	}
	put(t, root, "etc/passwd", "u:x:1000:1000:u:/home/u:/bin/sh\n")
	for dir, mode := range map[string]os.FileMode{"home/u": 0o755, "tmp": 0o777 | os.ModeSticky} {
		dir = filepath.Join(root, dir)
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.Chmod(dir, mode)
		}
		if err == nil {
			err = os.Chown(dir, 1000, 1000)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// put writes a file of a machine.
func put(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// bringNPM puts npm on a machine, in a version that runs on Debian's Node.
func bringNPM(t *testing.T, root string) {
	t.Helper()
	dir := t.TempDir()
	pack := exec.CommandContext(t.Context(), "npm", "pack", "--silent", "npm@10.9.4")
	pack.Dir = dir
	out, err := pack.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(root, "usr/lib/node_modules")
	if err := os.MkdirAll(modules, 0o755); err != nil {
		t.Fatal(err)
	}
	output(t, "tar", "-xzf", filepath.Join(dir, strings.TrimSpace(string(out))), "--no-same-owner", "-C", modules)
	if err := os.Rename(filepath.Join(modules, "package"), filepath.Join(modules, "npm")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"npm", "npx"} {
		script := filepath.Join(modules, "npm/bin", name+"-cli.js")
		if err := os.Chmod(script, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../lib/node_modules/npm/bin/"+name+"-cli.js", filepath.Join(root, "usr/bin", name)); err != nil {
			t.Fatal(err)
		}
	}
}

// bringUv puts uv on a machine.
func bringUv(t *testing.T, root string) {
	t.Helper()
	tools := t.TempDir()
	output(t, "python3", "-m", "pip", "install", "--quiet", "--target", tools, "uv")
	bin := filepath.Join(root, "usr/local/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	output(t, "cp", filepath.Join(tools, "bin/uv"), filepath.Join(tools, "bin/uvx"), bin)
}
