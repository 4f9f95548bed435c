package deno

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"coderunner/runners"
)

func BenchmarkHello(b *testing.B) {
	r := open(b, "", nil)
	for b.Loop() {
		if o := run(b, r, runners.Request{Code: "console.log('hello' as string)"}); o.Stdout != "hello\n" {
			b.Fatal(o)
		}
	}
}

func BenchmarkZod(b *testing.B) {
	r := open(b, "", nil)
	for b.Loop() {
		if o := run(b, r, runners.Request{Code: "import { z } from 'zod@3';\nz.string().parse('hello')"}); o.Result == nil {
			b.Fatal(o)
		}
	}
}

// BenchmarkDenoRun is what the others are compared with: deno run of the same
// file.
func BenchmarkDenoRun(b *testing.B) {
	binary, err := binaryOnce()
	if err != nil {
		b.Fatal(err)
	}
	name := filepath.Join(b.TempDir(), "main.ts")
	if err := os.WriteFile(name, []byte("console.log('hello' as string)"), 0o600); err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	for b.Loop() {
		cmd := exec.Command(binary, "run", "--no-config", "--no-lock", name)
		cmd.Env = []string{"DENO_DIR=" + dir, "NO_COLOR=1", "DENO_NO_UPDATE_CHECK=1"}
		if out, err := cmd.Output(); err != nil || string(out) != "hello\n" {
			b.Fatalf("%s, %v", out, err)
		}
	}
}
