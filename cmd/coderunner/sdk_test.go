package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/internal/testcache"
)

// TestSDKs runs what docs/embedding.md shows of the SDKs of Go, Python and TypeScript.
func TestSDKs(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: fetches the SDKs")
	}
	_, page, ok := strings.Cut(readDocument(t, "docs/embedding.md"), "## run_code from a program")
	if !ok {
		t.Fatal("docs/embedding.md has no such section")
	}
	block := func(language string) string {
		_, rest, ok := strings.Cut(page, "\n```"+language+"\n")
		code, _, closed := strings.Cut(rest, "```\n")
		if !ok || !closed || strings.Count(code, "\n") > 11 {
			t.Fatalf("no short block in %s: %q", language, code)
		}
		return code
	}
	for _, tt := range []struct {
		tool, file, text string
		commands         [][]string
	}{
		{"go", "main.go", "package main\n\nimport (\n\"context\"\n\"fmt\"\n\"os/exec\"\n\n\"github.com/modelcontextprotocol/go-sdk/mcp\"\n)\n\nfunc call(ctx context.Context) error {\n" +
			block("go") + "if err != nil {\nreturn err\n}\nfmt.Println(result.Content[0].(*mcp.TextContent).Text)\nreturn nil\n}\n\nfunc main() {\nif err := call(context.Background()); err != nil {\npanic(err)\n}\n}\n",
			[][]string{{"go", "mod", "init", "example.com/mine"}, {"go", "get", "github.com/modelcontextprotocol/go-sdk@v1.8.0"}, {"go", "run", "."}}},
		{"python3", "main.py", block("python"),
			[][]string{{"python3", "-m", "venv", "env"}, {"env/bin/python", "-m", "pip", "install", "--quiet", "mcp==2.3.0"}, {"env/bin/python", "main.py"}}},
		{"npm", "main.mts", block("ts"), [][]string{{"npm", "install", "--no-audit", "@modelcontextprotocol/client@2.4.0", "tsx@4.23.15"}, {"npx", "tsx", "main.mts"}}},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			if _, err := exec.LookPath(tt.tool); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			bin := t.TempDir() // SDKs pass on the PATH, but not where the cache is
			script := "#!/bin/sh\nCODE_RUNNER_CACHE_DIR='" + testcache.Dir() + "' exec '" + selfAs(t, "coderunner") + "' \"$@\"\n"
			if err := os.WriteFile(filepath.Join(bin, "coderunner"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			var out []byte
			for _, args := range tt.commands {
				cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GOWORK=off", "GOFLAGS=-mod=mod")
				var err error
				if out, err = cmd.Output(); err != nil {
					t.Fatalf("%q: %v\n%s\n%s", args, err, out, err.(*exec.ExitError).Stderr)
				}
			}
			if got := strings.TrimSpace(string(out)); got != "result: 42" {
				t.Errorf("it prints %q", got)
			}
		})
	}
}
