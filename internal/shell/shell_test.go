package shell_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/internal/kernel"
	"coderunner/internal/shell"
	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// lookup finds the programs that the tests have beside bash.
func lookup(name string) (kernel.Program, bool) {
	if name == "bash" || name == "sh" {
		return shell.Main, true
	}
	return nil, false
}

// buffer is an output that goroutines share.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// ran is how a script went.
type ran struct {
	stdout, stderr string
	code           int
	failure        error
}

type machine struct {
	lookup func(string) (kernel.Program, bool)
	names  []string
	memory int64
}

// run runs a script as bash would: with -c, in /home/user.
func (m machine) run(t testing.TB, ctx context.Context, stdin string, args ...string) ran {
	t.Helper()
	fs := memfs.New(memfs.Options{MaxBytes: m.memory})
	for _, dir := range []string{"/home/user", "/tmp"} {
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.MakeDevices(); err != nil {
		t.Fatal(err)
	}
	bin, err := kernel.Bin(m.names...)
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.New(kernel.Options{FS: fs, Lookup: m.lookup, Bin: bin})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k.OnFail(func(err error) { cancel(err) })
	var out, errs buffer
	p, err := k.Main(kernel.Exec{
		Path: "/bin/bash", Program: shell.Main, Args: append([]string{"bash"}, args...), Dir: "/home/user",
		Env: []string{"PATH=/usr/bin:/bin", "HOME=/home/user", "LANG=C.UTF-8"},
		Files: map[int]*memfs.File{
			0: fs.NewFile(memfs.NewInput(strings.NewReader(stdin)), abi.O_RDONLY, abi.S_IFIFO|0o600),
			1: fs.NewFile(memfs.NewOutput("stdout", &out), abi.O_WRONLY, abi.S_IFIFO|0o600),
			2: fs.NewFile(memfs.NewOutput("stderr", &errs), abi.O_WRONLY, abi.S_IFIFO|0o600),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Run(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	failure := k.Failure()
	k.End()
	return ran{out.String(), errs.String(), status.Code(), failure}
}

func TestSmoke(t *testing.T) {
	m := machine{lookup: lookup, names: []string{"bash", "sh"}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got := m.run(t, ctx, "", "-c", `x=5; echo "hi $x" $((x*2)) | while read a b; do echo "[$a][$b]"; done; nonexist; echo $?`)
	t.Logf("%+v", got)
}
