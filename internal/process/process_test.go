//go:build unix

package process

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sh starts a shell as Deno is started.
func sh(t *testing.T, script string) *Process {
	t.Helper()
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	p, err := Start(Command{Path: path, Args: []string{"-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A start that failed leaves nothing in the way of another.
func TestStartAgain(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		_, err := Start(Command{Path: filepath.Join(dir, "none"), Dir: dir, Input: filepath.Join(dir, "stdin")})
		if !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}

// late is a writer that is held up until a stream has ended.
type late struct {
	bytes.Buffer
	f *Output
}

func (l *late) Write(b []byte) (int, error) {
	<-l.f.ended
	return l.Buffer.Write(b)
}

// TestLateReader has readers that come to a process's output only when the
// process is long gone: at first, or after the first bytes.
func TestLateReader(t *testing.T) {
	p := sh(t, "printf first >&2; read line; printf rest >&2; printf out")
	stderr, stdout := &late{f: p.Stderr}, &bytes.Buffer{}
	var readers sync.WaitGroup
	readers.Go(func() { p.Copy(stderr, p.Stderr) })
	readers.Go(func() {
		<-p.Stdout.ended
		p.Copy(stdout, p.Stdout)
	})
	if _, err := io.WriteString(p.Stdin, "\n"); err != nil {
		t.Fatal(err)
	}
	p.Wait(&readers)
	if stdout.String() != "out" || stderr.String() != "firstrest" {
		t.Errorf("stdout %q, stderr %q, want out and firstrest", stdout, stderr)
	}
}

// TestHeldPipe has a process that leaves one in another group behind, which
// holds on to its output.
func TestHeldPipe(t *testing.T) {
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Skip(err)
	}
	p := sh(t, setsid+" sh -c 'echo $$; exec cat >/dev/null' <&0 & wait=$!; read line; printf out")
	b := make([]byte, 100)
	n, err := p.Stdout.Read(b) // the pid of what is left
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = exec.Command("kill", strings.TrimSpace(string(b[:n]))).Run() }()
	if _, err := io.WriteString(p.Stdin, "\n"); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	out := &bytes.Buffer{}
	readers.Go(func() { p.Copy(out, p.Stdout) })
	p.Wait(&readers) // and not for what is left
	if out.String() != "out" {
		t.Errorf("stdout %q, want out", out)
	}
}

// TestRestIsBounded reads after the end from a pipe that somebody keeps
// filling.
func TestRestIsBounded(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := newOutput(r)
	var filler sync.WaitGroup
	filler.Go(func() {
		for b := make([]byte, 4096); ; {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	})
	o.end()
	n, err := io.Copy(io.Discard, o)
	if n > maxRest || err != nil {
		t.Errorf("%d bytes, %v, want at most %d", n, err, maxRest)
	}
	r.Close()
	filler.Wait()
	w.Close()
}
