package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"coderunner/internal/testcache"
	"coderunner/runners/python/wheel/wheeltest"
)

// TestIndexInADirectory installs a package from a file URL, as README.md has
// it for machines without a network.
func TestIndexInADirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches Pyodide")
	}
	cache := testcache.Dir()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const file = "local_only-1.0-py3-none-any.whl"
	wheel := wheeltest.Wheel{Filename: file, Files: map[string]string{"local_only.py": "answer = 42\n"}}.Build()
	write("simple/local-only/"+file, wheel)
	write("simple/local-only/index.html", fmt.Appendf(nil, "<a href=%q>%s</a>", file+"#sha256="+wheeltest.SHA256(wheel), file))
	write("program.py", []byte("import local_only\nlocal_only.answer"))
	write("first.py", []byte("import six\nsix.PY3"))
	run := func(program, want string, env ...string) {
		t.Helper()
		cmd := exec.Command(selfAs(t, "coderunner"), "run", filepath.Join(dir, program))
		cmd.Env = append(append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+cache), env...)
		cmd.Stderr = os.Stderr
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("%s: %v, printed %q", program, err, out)
		}
	}
	run("first.py", "True\n") // has the cache hold micropip, which this index does not have
	run("program.py", "42\n", "PIP_INDEX_URL=file://"+filepath.Join(dir, "simple"))
}
