package backend

import (
	"context"
	"strings"
	"testing"

	"coderunner/internal/intercept"
	"coderunner/runners"
)

// TestOpen runs a program without a command line, a network or a runtime.
func TestOpen(t *testing.T) {
	secrets, err := intercept.ParseSecrets("KEY=api.example.com", func(string) (string, bool) { return "hush-hush-0123", true })
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(Config{Only: runners.Bash, CacheDir: t.TempDir(), Offline: true, Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.Runners[runners.Bash].Run(context.Background(), runners.Request{Language: runners.Bash, Code: "echo a hush-hush-0123"})
	if err != nil || out.Status != runners.Succeeded || !strings.HasPrefix(out.Stdout, "a ") || strings.Contains(out.Stdout, "hush") {
		t.Errorf("%+v, %v", out, err)
	}
	if b.Runners[runners.TypeScript] != nil {
		t.Error("it has a runner that was not asked for")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenRefuses has configurations that are wrong, each named as its setting.
func TestOpenRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"DENO_PERMISSION_ARGS: ":                   {Permissions: []string{"--inspect"}},
		"--record and --replay exclude each other": {Record: "a", Replay: "b"},
		"CODE_RUNNER_HOST_LANGUAGES: ":             {HostLanguages: []string{"cobol"}},
	} {
		c.CacheDir, c.Offline = t.TempDir(), true
		if b, err := Open(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", b, err, want)
		}
	}
	if _, err := SessionStore("https://example.com"); err == nil {
		t.Error("a store at an https URL")
	}
}
