package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"coderunner/internal/clients"
)

// user is somebody who has a home directory and nothing in it.
type user struct {
	home string
	env  []string
}

func newUser(t *testing.T, env ...string) *user {
	u := &user{home: t.TempDir()}
	u.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.home, "TMPDIR=" + t.TempDir(), "CODE_RUNNER_OFFLINE=1",
		"NO_PROXY=127.0.0.1", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}, env...)
	return u
}

// addPath puts a directory before the others that commands are looked up in.
func (u *user) addPath(dir string) {
	u.env[0] = "PATH=" + dir + ":" + strings.TrimPrefix(u.env[0], "PATH=")
}

func (u *user) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	if filepath.Base(name) == name { // in the user's PATH
		for _, dir := range filepath.SplitList(strings.TrimPrefix(u.env[0], "PATH=")) {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode()&0o111 != 0 {
				name = filepath.Join(dir, name)
				break
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = u.home, u.env
	return cmd
}

func (u *user) output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := u.command(t, name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, &errs)
	}
	return string(out)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"

// answers wants a command to be the server.
func (u *user) answers(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := u.command(t, name, args...)
	cmd.Stdin = strings.NewReader(initialize)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var answer struct {
		Result struct {
			ServerInfo struct{ Name, Version string }
		}
	}
	if jsonErr := json.Unmarshal(out, &answer); err != nil || jsonErr != nil || answer.Result.ServerInfo.Name != "coderunner" || answer.Result.ServerInfo.Version != testVersion {
		t.Errorf("%s %v: %v, %v\n%s%s", name, args, err, jsonErr, out, &errs)
	}
}

func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
}

// TestNPM installs the packages by npm from a registry on loopback, as a user would.
func TestNPM(t *testing.T) {
	need(t, "npm", "node", "npx")
	r := releaseOfThis(t)
	registry := serveNPM(t, filepath.Join(r.out, "npm"))
	u := newUser(t, "NPM_CONFIG_REGISTRY="+registry, "NPM_CONFIG_UPDATE_NOTIFIER=false")
	u.answers(t, "npx", "-y", r.NPM)
	u.env = append(u.env, "NPM_CONFIG_PREFIX="+filepath.Join(u.home, "global"))
	u.output(t, "npm", "install", "-g", r.NPM)
	launcher := filepath.Join(u.home, "global/bin/coderunner")
	if runtime.GOOS == "windows" {
		launcher = filepath.Join(u.home, "global/coderunner.cmd")
	}
	u.answers(t, launcher)
	u.answers(t, launcher, "serve")
	testEntry(t, u, launcher, "--npx")
	binary := filepath.Join(r.out, "bin", runtime.GOOS+"_"+runtime.GOARCH, r.platforms[0].executable())
	for _, args := range [][]string{{"--version"}, {"nonsense"}, {"run", "not-there.py"}} {
		if direct, through := u.exits(t, binary, nil, args...), u.exits(t, launcher, nil, args...); direct != through {
			t.Errorf("%v: exit status %v, through the launcher %v", args, direct, through)
		}
	}
	if runtime.GOOS != "windows" {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			if direct, through := u.exits(t, binary, s), u.exits(t, launcher, s); direct != through {
				t.Errorf("%v: exit status %v, through the launcher %v", s, direct, through)
			}
		}
	}
	testDoctor(t, u, launcher, "npm install -g")
	alone := newUser(t, "NPM_CONFIG_REGISTRY="+registry)
	alone.output(t, "npm", "install", "--omit=optional", r.NPM)
	out, err := alone.command(t, filepath.Join(alone.home, "node_modules/.bin/coderunner")).CombinedOutput()
	if want := "the package " + r.npmName(r.platforms[0]) + " is missing"; err == nil || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
		t.Errorf("without the platform's package: %v\n%s\nwant %q", err, out, want)
	}
	_, hint, _ := strings.Cut(strings.TrimSpace(string(out)), "hint: ")
	alone.output(t, "sh", "-c", hint)
	alone.answers(t, filepath.Join(alone.home, "node_modules/.bin/coderunner"))
}

// testEntry writes the entry of each client, and starts the server by the command that
// all of them have.
func testEntry(t *testing.T, u *user, binary, flag string) {
	t.Helper()
	var line []string
	for _, client := range clients.Names() {
		said := u.output(t, binary, "config", client, flag, "--timeout", "2m", "--write", "--yes")
		said = said[strings.LastIndex(strings.TrimSpace(said), "\n")+1:]
		file, _, ok := strings.Cut(said, " is written; restart "+client)
		if !ok {
			t.Errorf("%s: %s", client, said)
			continue
		}
		each := entryIn(t, file)
		if line == nil {
			line = each
		}
		if len(each) < 2 || !slices.Equal(each, line) || !strings.Contains(strings.Join(each, " "), testVersion) || each[len(each)-1] != "--timeout=2m" {
			t.Errorf("the entry of %s in %s starts %q, another %q", client, file, each, line)
		}
	}
	u.answers(t, line[0], line[1:]...)
}

// entryIn returns the command of the entry in a client's file.
func entryIn(t *testing.T, file string) (line []string) {
	t.Helper()
	decode := map[string]func([]byte, any) error{".json": json.Unmarshal, ".toml": toml.Unmarshal, ".yaml": yaml.Unmarshal}[filepath.Ext(file)]
	var all map[string]any
	if err := decode([]byte(readFile(t, file)), &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, table := range all {
		servers, _ := table.(map[string]any)
		entry, _ := servers["coderunner"].(map[string]any)
		for _, key := range []string{"command", "cmd", "args"} {
			switch part := entry[key].(type) {
			case string:
				line = append(line, part)
			case []any:
				for _, arg := range part {
					line = append(line, arg.(string))
				}
			}
		}
	}
	return line
}

// testDoctor wants the doctor to know how a binary was installed, and removes it by the
// line that it prints.
func testDoctor(t *testing.T, u *user, binary, by string) {
	t.Helper()
	report := u.output(t, binary, "doctor")
	if !strings.Contains(report, "installed by "+by+", /") {
		t.Errorf("it was installed by %s:\n%s", by, report)
	}
	_, rest, _ := strings.Cut(report, "remove by ")
	remove, _, _ := strings.Cut(rest, "\n")
	u.addPath(filepath.Dir(binary))
	u.output(t, "sh", "-c", strings.Replace(remove, "pip uninstall ", "pip uninstall -y ", 1))
	if _, err := os.Stat(binary); err == nil {
		t.Errorf("it is still there after %s", remove)
	}
}

// exits runs a command to its end, which a signal brings once it has answered, and
// returns how it ended.
func (u *user) exits(t *testing.T, name string, signal os.Signal, args ...string) string {
	t.Helper()
	cmd := u.command(t, name, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if signal != nil {
		if _, err = io.WriteString(in, initialize); err == nil {
			_, err = out.Read(make([]byte, 1)) // it serves
		}
		if err == nil {
			err = cmd.Process.Signal(signal)
		}
		if err != nil {
			t.Errorf("%s %v: %v", name, args, err)
		}
	}
	_, _ = io.Copy(io.Discard, out)
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Errorf("%s %v: %v", name, args, err)
	}
	return cmd.ProcessState.String()
}

// TestWheelsByPip installs the wheel by pip into an environment of its own.
func TestWheelsByPip(t *testing.T) {
	need(t, "python3")
	r := releaseOfThis(t)
	u := newUser(t, "PIP_INDEX_URL="+servePyPI(t, filepath.Join(r.out, "pypi"), r.PyPI), "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_CONFIG_FILE="+os.DevNull)
	env := filepath.Join(u.home, "env")
	u.output(t, "python3", "-m", "venv", env)
	bin := filepath.Join(env, "bin")
	if runtime.GOOS == "windows" {
		bin = filepath.Join(env, "Scripts")
	}
	u.output(t, filepath.Join(bin, "python"), "-m", "pip", "install", r.PyPI)
	u.answers(t, filepath.Join(bin, r.platforms[0].executable()))
	testDoctor(t, u, filepath.Join(bin, r.platforms[0].executable()), "pip")
}

// TestWheelsByUv runs the wheel by uvx, by uv tool install, and by pipx.
func TestWheelsByUv(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: fetches uv")
	}
	need(t, "python3")
	tools := t.TempDir()
	output(t, "python3", "-m", "pip", "install", "--quiet", "--target", tools, "uv", "pipx")
	r := releaseOfThis(t)
	index := servePyPI(t, filepath.Join(r.out, "pypi"), r.PyPI)
	u := newUser(t, "UV_DEFAULT_INDEX="+index, "UV_PYTHON_DOWNLOADS=never")
	u.answers(t, filepath.Join(tools, "bin/uvx"), r.uvxArgs()...)
	u.output(t, filepath.Join(tools, "bin/uv"), "tool", "install", r.PyPI)
	binary := filepath.Join(u.home, ".local/bin/coderunner")
	u.answers(t, binary)
	u.addPath(filepath.Join(tools, "bin"))
	testEntry(t, u, binary, "--uvx")
	testDoctor(t, u, binary, "uv tool install")
	u = newUser(t, "PYTHONPATH="+tools, "PIP_EXTRA_INDEX_URL="+index, "UV_INDEX="+index) // pipx installs a pip of its own
	u.answers(t, filepath.Join(tools, "bin/pipx"), "run", "--spec", r.PyPI, "coderunner")
}

// TestWheelRecords wants each wheel to list exactly its files.
func TestWheelRecords(t *testing.T) {
	r := releaseOfAll(t)
	names, err := filepath.Glob(filepath.Join(r.out, "pypi", "example_coderunner-1.2.3rc4-py3-none-*.whl"))
	if err != nil || len(names) != len(platforms) {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range names {
		z, err := zip.OpenReader(name)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		record, err := z.Open("example_coderunner-1.2.3rc4.dist-info/RECORD")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(record).ReadAll()
		if err != nil || len(rows) != len(z.File) {
			t.Errorf("%s: %d rows for %d files: %v", filepath.Base(name), len(rows), len(z.File), err)
		}
	}
}
