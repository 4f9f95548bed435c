package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// shells are what install.sh is run by, each with the tools that it finds.
var shells = map[string][]string{
	"dash":    {"dash"},
	"bash":    {"bash"},
	"busybox": {"busybox", "sh"},
}

// TestInstallScript runs install.sh as its head says, from a server on loopback.
func TestInstallScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("install.ps1 is for Windows")
	}
	r := releaseOfThis(t)
	server := httptest.NewServer(http.FileServerFS(os.DirFS(filepath.Join(r.out, "download"))))
	defer server.Close()
	spoilt := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(append(bytes.Clone(r.archives[r.platforms[0]].data), "more"...))
	}))
	defer spoilt.Close()
	script := readFile(t, filepath.Join(r.out, "download/install.sh"))
	tried := 0
	for name, shell := range shells {
		if _, err := exec.LookPath(shell[0]); err != nil {
			t.Logf("there is no %s", name)
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			i := &installation{shell: shell, home: t.TempDir(), tmp: t.TempDir(), path: os.Getenv("PATH")}
			if name == "busybox" {
				i.path = onlyBusybox(t)
			}
			i.testIn(t, script, server.URL, spoilt.URL)
		})
	}
	if tried == 0 {
		t.Fatal("there is no shell")
	}
}

// onlyBusybox returns a directory that has busybox's commands and no others.
func onlyBusybox(t *testing.T) string {
	dir := t.TempDir()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	for command := range strings.FieldsSeq(output(t, "busybox", "--list")) {
		if err := os.Symlink(busybox, filepath.Join(dir, command)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// installation is a user's home, in which a script is run.
type installation struct {
	shell           []string
	home, tmp, path string
}

func (i *installation) run(t *testing.T, script, from string, args ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), i.shell[0], append(append([]string{}, i.shell[1:]...), append([]string{"-s", "--"}, args...)...)...)
	cmd.Dir, cmd.Stdin = i.home, strings.NewReader(script)
	cmd.Env = []string{"HOME=" + i.home, "TMPDIR=" + i.tmp, "PATH=" + i.path, "CODE_RUNNER_DOWNLOADS=" + from}
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

// TestInstallLine runs the line of the documents, with another server in its URL.
func TestInstallLine(t *testing.T) {
	need(t, "curl")
	r := releaseOfThis(t)
	server := httptest.NewServer(http.FileServerFS(os.DirFS(filepath.Join(r.out, "download"))))
	defer server.Close()
	_, rest, _ := strings.Cut(readFile(t, "../../README.md"), "`curl ")
	line, _, _ := strings.Cut(rest, "`")
	line = strings.ReplaceAll(strings.ReplaceAll("curl "+line, "\\|", "|"), owner.Latest, server.URL)
	u := newUser(t, "CODE_RUNNER_DOWNLOADS="+server.URL)
	u.output(t, "sh", "-c", line)
	u.answers(t, filepath.Join(u.home, ".local/bin/coderunner"))
}

func (i *installation) testIn(t *testing.T, script, server, spoilt string) {
	binary := filepath.Join(i.home, ".local/bin/coderunner")
	out, ok := i.run(t, script, server)
	if !ok || !strings.Contains(out, "Installed coderunner 1.2.3 as "+binary) || !strings.Contains(out, `export PATH="`+filepath.Dir(binary)+`:$PATH"`) {
		t.Fatalf("install: %s", out)
	}
	_, uninstall, _ := strings.Cut(out, "Uninstall: ")
	if got := output(t, binary, "--version"); got != "coderunner version 1.2.3\n" {
		t.Errorf("what is installed says %q", got)
	}
	if out, ok := i.run(t, script, spoilt); ok || !strings.Contains(out, "nothing is installed") {
		t.Errorf("an archive of another digest: %s", out)
	}
	if out, ok := i.run(t, script, server+"/nothing"); ok || !strings.Contains(out, "cannot fetch "+server+"/nothing/") {
		t.Errorf("an archive that is not there: %s", out)
	}
	if out, ok := i.run(t, script[:len(script)/2], server); strings.Contains(out, "Installed") {
		t.Errorf("half the script: %v %s", ok, out)
	}
	if out, ok := i.run(t, script, server, "--wrong"); ok || !strings.Contains(out, "--wrong") {
		t.Errorf("--wrong: %s", out)
	}
	if got := output(t, binary, "--version"); got != "coderunner version 1.2.3\n" {
		t.Errorf("what was installed says %q", got)
	}
	i.path = filepath.Dir(binary) + ":" + i.path
	if out, ok := i.run(t, script, server); !ok || strings.Contains(out, "export PATH") { // a second time, and it is in PATH now
		t.Errorf("again: %s", out)
	}
	for _, what := range []string{uninstall, script} {
		if out, ok := i.run(t, what, server, "--uninstall"); !ok {
			t.Errorf("uninstall: %s", out)
		}
		if _, err := os.Stat(binary); err == nil {
			t.Errorf("it is still there after %.60s", what)
		}
		if out, ok := i.run(t, script, server); !ok {
			t.Errorf("install: %s", out)
		}
	}
	for _, dir := range []string{i.tmp, filepath.Dir(binary)} {
		left, err := fs.ReadDir(os.DirFS(dir), ".")
		if err != nil || len(left) > 1 || dir == i.tmp && len(left) > 0 {
			t.Errorf("%s has %v, %v", dir, left, err)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestInstallScriptIsClean: shellcheck finds nothing.
func TestInstallScriptIsClean(t *testing.T) {
	r := releaseOfAll(t)
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip(err)
	}
	output(t, "shellcheck", "-s", "sh", filepath.Join(r.out, "download/install.sh"))
}
