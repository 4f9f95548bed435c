// Package conformance runs the protocol's own suite, on Deno, against a server over HTTP. It
// is for tests.
package conformance

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/testcache"
	"coderunner/internal/versions"
)

// Suite is a version of the suite, and the revision of the protocol whose requirements it
// looks at, "" for its own.
type Suite struct{ Version, Requirements string }

// Suites are those that servers are held to.
var Suites = []Suite{{"0.1.16", ""}, {"0.2.0-alpha.12", "2025-11-25"}, {"0.2.0-alpha.12", "2026-07-28"}}

// Name is the suite's in names of files.
func (s Suite) Name() string { return strings.TrimSuffix(s.Version+"-"+s.Requirements, "-") }

// Run runs a suite against the server at a URL and returns how many scenarios passed. A file
// names those that are expected to fail, and the suite fails when one of these passes.
func Run(t testing.TB, url string, s Suite, expected string) (passed int) {
	t.Helper()
	expected, err := filepath.Abs(expected)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	results := t.TempDir()
	args := []string{"run", "--quiet", "--allow-all", "--no-config", "--no-lock", "--no-prompt", "npm:@modelcontextprotocol/conformance@" + s.Version,
		"server", "--url", url, "--expected-failures", expected, "--output-dir", results}
	if s.Requirements != "" {
		args = append(args, "--requirements", s.Requirements)
	}
	cmd := exec.CommandContext(ctx, Deno(t), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), Environment()...)
	out, err := cmd.CombinedOutput()
	_, summary, found := bytes.Cut(out, []byte("=== SUMMARY ==="))
	if !found {
		summary = out
	}
	if err != nil {
		failed := regexp.MustCompile(`(?m)^.*(FAILURE|✗|Error:).*$`).FindAll(out, 40)
		t.Errorf("%v\n%s\n%s\n%s", err, bytes.Join(failed, []byte("\n")), summary, reasons(results, summary))
	}
	t.Logf("%s", summary)
	return bytes.Count(summary, []byte("✓"))
}

// reasons returns the checks of the scenarios that were not expected to fail.
func reasons(results string, summary []byte) (checks []byte) {
	_, unexpected, _ := bytes.Cut(summary, []byte("Unexpected failures"))
	for _, scenario := range regexp.MustCompile(`(?m)✗ ([\w-]+)$`).FindAllSubmatch(unexpected, -1) {
		files, _ := filepath.Glob(filepath.Join(results, "server-"+string(scenario[1])+"-2*", "checks.json"))
		for _, file := range files {
			data, _ := os.ReadFile(file)
			checks = append(checks, data...)
		}
	}
	return checks
}

// Environment returns the variables with which Deno runs programs of npm for tests.
func Environment() []string {
	return []string{"DENO_DIR=" + filepath.Join(testcache.Dir(), "conformance"), "DENO_NO_PACKAGE_JSON=1", "DENO_NO_UPDATE_CHECK=1", "DENO_TLS_CA_STORE=system,mozilla", "NO_COLOR=1"}
}

// Deno returns the path of the Deno that programs run on.
func Deno(t testing.TB) string {
	c, err := cache.Open(testcache.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	registry := os.Getenv("NPM_CONFIG_REGISTRY")
	if registry == "" {
		registry = versions.NPMRegistry
	}
	p, executable, err := versions.Deno(registry)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fetch.New(c, fetch.Options{}).NPM(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, executable)
}
