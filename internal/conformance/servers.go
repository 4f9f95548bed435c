package conformance

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/internal/testcache"
)

// Servers returns reference servers of tools, as clients configure them, on Deno: those of the
// protocol's own project, and programs on its SDK by the paths of their files. The server
// filesystem has the directory dir.
func Servers(t testing.TB, dir string, programs map[string]string) map[string]any {
	environment := map[string]string{"NPM_CONFIG_REGISTRY": os.Getenv("NPM_CONFIG_REGISTRY"), "MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	for _, variable := range Environment() {
		if name, value, _ := strings.Cut(variable, "="); value != "" {
			environment[name] = value
		}
	}
	deno := Deno(t)
	run := func(args ...string) map[string]any {
		return map[string]any{"command": deno, "env": environment, "args": append([]string{"run", "--quiet", "--allow-all", "--no-config", "--no-lock", "--no-prompt"}, args...)}
	}
	servers := map[string]any{}
	for name, arg := range map[string]string{"everything": "stdio", "filesystem": dir, "memory": "", "sequential-thinking": ""} {
		servers[name] = run("npm:@modelcontextprotocol/server-"+name+"@2026.8.31", arg)
	}
	for name, file := range programs {
		servers[name] = run(file)
	}
	return servers
}

// PythonServers returns reference servers that are projects of PyPI, on the host's Python; the
// test is skipped where there is none. The server git has the repository dir, which is made.
func PythonServers(t testing.TB, dir string) map[string]any {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	version, err := exec.CommandContext(t.Context(), python, "-V").Output() // of which packages have machine code
	if err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, bytes.TrimSpace(out))
		}
	}
	command("git", "init", "--quiet", dir)
	command("git", "-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--allow-empty", "--message", "first")
	servers := map[string]any{}
	for _, set := range []struct {
		requirements []string
		servers      map[string][]string
	}{
		{[]string{"mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24"},
			map[string][]string{"time": nil, "git": {"--repository", dir}, "fetch": {"--ignore-robots-txt", "--allow-private-ips"}}},
		{[]string{"mcp-server-sqlite==2025.4.25", "mcp<2"}, map[string][]string{"sqlite": {"--db-path", filepath.Join(t.TempDir(), "test.db")}}},
	} {
		site := filepath.Join(testcache.Dir(), "tools-servers", strings.Join(append(strings.Fields(string(version)), set.requirements...), " "))
		if _, err := os.Stat(site); err != nil {
			partial, err := os.MkdirTemp(testcache.Dir(), "python")
			if err != nil {
				t.Fatal(err)
			}
			command(python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--target", partial}, set.requirements...)...)
			if err := errors.Join(os.MkdirAll(filepath.Dir(site), 0o700), os.Rename(partial, site)); err != nil {
				t.Fatal(err)
			}
		}
		for name, args := range set.servers {
			code := "import sys; sys.argv[0] = 'server'; from mcp_server_" + name + " import main; main()"
			servers[name] = map[string]any{"command": python, "args": append([]string{"-c", code}, args...), "env": map[string]string{"PYTHONPATH": site}}
		}
	}
	return servers
}
