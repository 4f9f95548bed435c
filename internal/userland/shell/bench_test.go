package shell_test

import (
	"bytes"
	"coderunner/internal/userland/commands"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkTrue is a machine of its own and bash -c true on it.
func BenchmarkTrue(b *testing.B) {
	m := machine{lookup: commands.Lookup, names: commands.Names()}
	for b.Loop() {
		if got := m.run(b, context.Background(), "", "-c", "true"); got.code != 0 {
			b.Fatalf("%+v", got)
		}
	}
}

// pipeline has five commands, for 10 MB of input.
const pipeline = `cat in.txt | grep -v 7 | sed s/a/b/ | sort | uniq -c | wc -l`

func lines() []byte {
	return bytes.Repeat([]byte("a line of text with a number 1234\nanother line, 56\nand 789\n"), 10<<20/60)
}

// BenchmarkPipeline and BenchmarkPipelineBash run the same pipeline here and in the
// machine's bash with its commands.
func BenchmarkPipeline(b *testing.B) {
	m := machine{lookup: commands.Lookup, names: commands.Names(), files: map[string]string{"/home/user/in.txt": string(lines())}}
	b.SetBytes(10 << 20)
	for b.Loop() {
		if got := m.run(b, context.Background(), "", "-c", pipeline); got.stdout != "2\n" {
			b.Fatalf("%+v", got)
		}
	}
}

func BenchmarkPipelineBash(b *testing.B) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		b.Skip("there is no bash to compare with")
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), lines(), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(10 << 20)
	for b.Loop() {
		c := exec.Command(bash, "-c", pipeline)
		c.Dir, c.Env = dir, []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
		if out, err := c.Output(); err != nil || string(out) != "2\n" {
			b.Fatalf("%s %v", out, err)
		}
	}
}
