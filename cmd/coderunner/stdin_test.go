package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"coderunner/internal/testcache"
)

// TestOpenStdin runs programs on a pipe that nobody closes. One that does not
// read ends all the same, and one that does gets what is there, however it
// reads: nothing guesses that from its text.
func TestOpenStdin(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	cache := testcache.Dir()
	for name, code := range map[string]string{
		"ignores.py": "print('abc')",
		"ignores.ts": "console.log('abc')",
		"reads.py":   "import io\nprint(io.FileIO(0).read(3).decode())",
		"reads.ts":   "const fs = await import('node:fs');\nconst b = new Uint8Array(3);\nconsole.log(new TextDecoder().decode(b.subarray(0, fs.readSync(0, b))))",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd := exec.Command(selfAs(t, "coderunner"), "run", file)
			cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+cache)
			cmd.Stdout, cmd.Stderr = &out, os.Stderr
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			hung := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
			defer hung.Stop()
			_, _ = io.WriteString(in, "abc") // one that does not read may have ended
			state, err := cmd.Process.Wait()
			if err != nil {
				t.Fatal(err)
			}
			in.Close()
			_ = cmd.Wait() // its output is copied
			if !state.Success() || out.String() != "abc\n" {
				t.Errorf("%v, printed %q", state, out.String())
			}
		})
	}
}
