package shell_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sample"
	"coderunner/internal/testchild"
	"coderunner/internal/userland/commands"
)

// section is a script of a table: its name, and its text.
type section struct{ name, text string }

// sections splits a file at its lines "### name".
func sections(t *testing.T, file string) (list []section) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+string(b), "\n### ") {
		if name, text, ok := strings.Cut(part, "\n"); ok && name != "" {
			list = append(list, section{name, text + "\n"})
		}
	}
	return list
}

// beside runs a script in the machine's bash: as main.sh in a directory of its own.
func beside(t *testing.T, text, stdin string) ran {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to compare with")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.sh"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	testchild.Ordinary()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, bash, "main.sh")
	c.Dir = dir
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "LANG=C.UTF-8", "TMPDIR=" + dir}
	c.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run()
	clean := func(s string) string {
		return strings.NewReplacer(dir, "/home/user", "‘", "'", "’", "'").Replace(s)
	}
	return ran{clean(out.String()), clean(errs.String()), c.ProcessState.ExitCode(), nil}
}

// TestBash runs small scripts here and in bash.
func TestBash(t *testing.T) { compare(t, sections(t, "testdata/bash.txt")) }

// TestScripts does so with scripts as models write them.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of scripts")
	}
	compare(t, sample.Of(t, 5, append(sections(t, "testdata/scripts.txt"), sections(t, "testdata/models.txt")...)))
}

// compare runs scripts here and in the machine's bash. Those whose name ends in "gawk" need
// an awk there that is GNU's, as ours is.
func compare(t *testing.T, list []section) {
	m := machine{lookup: commands.Lookup, names: commands.Names()}
	version, _ := exec.CommandContext(t.Context(), "awk", "--version").Output()
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			if strings.HasSuffix(s.name, "gawk") && !bytes.HasPrefix(version, []byte("GNU Awk")) {
				t.Skip("the machine's awk is not GNU awk")
			}
			want := beside(t, s.text, "one two\nthree\n")
			m := m
			m.files = map[string]string{"/home/user/main.sh": s.text}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			got := m.run(t, ctx, "one two\nthree\n", "main.sh")
			if got != want {
				t.Errorf("%s\ngot  %d %q\nwant %d %q\nstderr:\ngot  %q\nwant %q", s.text, got.code, got.stdout, want.code, want.stdout, got.stderr, want.stderr)
			}
		})
	}
}
