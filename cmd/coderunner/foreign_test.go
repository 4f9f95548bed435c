package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/testcache"
	"coderunner/internal/versions"
)

// TestForeignClient lets the official TypeScript client talk to the server,
// under the Deno that the cache has anyway.
func TestForeignClient(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches a client")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir := testcache.Dir()
	c, err := cache.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	registry := os.Getenv("NPM_CONFIG_REGISTRY")
	if registry == "" {
		registry = versions.NPMRegistry
	}
	p, executable, err := versions.Deno(registry)
	if err != nil {
		t.Fatal(err)
	}
	denoDir, err := fetch.New(c, fetch.Options{}).NPM(ctx, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	deno := filepath.Join(denoDir, executable)
	bin := selfAs(t, "coderunner")
	warm := exec.CommandContext(ctx, bin, "warm")
	warm.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+dir)
	if out, err := warm.CombinedOutput(); err != nil {
		t.Fatalf("warm: %v\n%s", err, out)
	}

	client := t.TempDir()
	for name, args := range map[string][]string{"stdio": {bin}, "HTTP": overHTTP(t)} {
		t.Run(name, func(t *testing.T) { foreignClient(ctx, t, deno, client, dir, args) })
	}
}

// overHTTP starts a server, and returns what clients need of it.
func overHTTP(t *testing.T) []string {
	const token = "clients-0123456789"
	return []string{startHTTP(t, []string{"CODE_RUNNER_HTTP_TOKEN=" + token, "CODE_RUNNER_SESSION_DIR=" + t.TempDir()}).url, token}
}

func foreignClient(ctx context.Context, t *testing.T, deno, denoDir, dir string, args []string) {
	cmd := exec.CommandContext(ctx, deno, append([]string{"run", "--allow-all", "--no-config", "--no-lock", "--no-prompt",
		filepath.Join("testdata", "client", "client.ts")}, args...)...)
	cmd.Env = append(os.Environ(),
		"CODE_RUNNER_CACHE_DIR="+dir,
		"DENO_DIR="+denoDir,
		"DENO_NO_PACKAGE_JSON=1", "DENO_NO_UPDATE_CHECK=1", "DENO_TLS_CA_STORE=system,mozilla", "NO_COLOR=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("the client: %v\n%s", err, out.Bytes())
	}
	const checks = 2 * 19
	n := 0
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "ok ") {
			n++
		}
	}
	if n != checks {
		t.Errorf("%d checks passed, want %d:\n%s", n, checks, out.Bytes())
	}
}

// TestPythonClient lets the official Python SDK, of both major versions, and FastMCP talk
// to the server, where there are Python and pip.
func TestPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long, and needs Python")
	}
	if err := exec.Command(python, "-m", "pip", "--version").Run(); err != nil {
		t.Skipf("no pip: %v", err)
	}
	for version, checks := range map[string]int{"1.30.0": 15, "1.30.0 HTTP": 15, "2.3.0": 3*14 + 1, "2.3.0 HTTP": 3*14 + 1, "fastmcp 4.1.2 HTTP": 2 * 8} {
		t.Run(version, func(t *testing.T) {
			args := []string{selfAs(t, "coderunner")}
			version, web := strings.CutSuffix(version, " HTTP")
			if web {
				args = overHTTP(t)
			}
			requirement, script := "mcp=="+version, "client.py"
			if fast, ok := strings.CutPrefix(version, "fastmcp "); ok {
				requirement, script = "fastmcp=="+fast, "fast.py"
			}
			packages := filepath.Join(testcache.Dir(), "client-"+strings.Replace(requirement, "==", "-", 1))
			if !exists(filepath.Join(packages, "mcp")) {
				if out, err := exec.CommandContext(t.Context(), python, "-m", "pip", "install", "--quiet", "--target", packages, requirement).CombinedOutput(); err != nil {
					t.Fatalf("install the client: %v\n%s", err, out)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, python, append([]string{filepath.Join("testdata", "client", script)}, args...)...)
			cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+testcache.Dir(), "PYTHONPATH="+packages)
			var log bytes.Buffer
			cmd.Stderr = &log
			out, err := cmd.Output()
			if n := bytes.Count(out, []byte("ok ")); err != nil || n != checks {
				t.Fatalf("%d checks passed, want %d: %v\n%s\n%s", n, checks, err, out, log.Bytes())
			}
		})
	}
}
