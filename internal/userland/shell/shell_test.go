package shell_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/commands"
	"coderunner/internal/userland/shell"
	"coderunner/internal/userland/shell/parse"
)

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

// machine is what scripts run on.
type machine struct {
	lookup func(string) (kernel.Program, bool)
	names  []string
	memory int64
	files  map[string]string
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
	for name, text := range m.files {
		if err := fs.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bin, err := kernel.Bin(m.names...)
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.New(kernel.Options{FS: fs, Lookup: m.lookup, Bin: bin, Panicked: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var out, errs buffer
	p, err := k.Main(kernel.Exec{
		Path: "/bin/bash", Program: shell.Main, Args: append([]string{"bash"}, args...), Dir: "/home/user",
		Umask: 0o22,
		Env:   []string{"PATH=/usr/bin:/bin", "HOME=/home/user", "LANG=C.UTF-8"},
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

func TestIncomplete(t *testing.T) {
	for text, want := range map[string]bool{
		"echo a\n": false, "for i in 1 2; do\n": true, "for i in 1 2; do\n echo $i\n": true, "for i in 1 2; do echo $i; done\n": false, "if true; then\n": true,
		"echo 'a\n": true, "echo \"a\n": true, "f() {\n": true, "cat <<E\na\n": true, "cat <<E\na\nE\n": false, "x=$(\n": true, "done\n": false, "a |\n": true, "a &&\n": true,
	} {
		if got := parse.Incomplete(text); got != want {
			t.Errorf("Incomplete(%q) = %v", text, got)
		}
	}
}

// TestInstead: what is missing is bash's message, and the way out where there is one.
func TestInstead(t *testing.T) {
	m := machine{lookup: commands.Lookup, names: commands.Names()}
	got := m.run(t, t.Context(), "", "-c", "git log; nosuch; pstree; command -v sudo")
	want := "bash: line 1: git: command not found; use diff -u and patch: there is no version control here\nbash: line 1: nosuch: command not found\n" +
		"bash: line 1: pstree: command not found; use ps: there is no terminal here\n"
	if got.stderr != want || got.code != 1 {
		t.Errorf("%d %q, want %q", got.code, got.stderr, want)
	}
	got = m.run(t, t.Context(), "", "-c", "git -v 2> /dev/null; x=$(hg 2>&1); (git a); git b | cat; hg c & wait; f() { svn; }; f 2>&1")
	want = "bash: line 1: git: command not found; use diff -u and patch: there is no version control here\nbash: line 1: git: command not found\n" +
		"bash: line 1: hg: command not found\n"
	if got.stderr != want || got.stdout != "environment: line 1: svn: command not found\n" {
		t.Errorf("again: %q %q, want %q", got.stdout, got.stderr, want)
	}
}

// TestStopSignals: a process is not stopped, and the message names what ends it.
func TestStopSignals(t *testing.T) {
	m := machine{lookup: commands.Lookup, names: commands.Names()}
	got := m.run(t, t.Context(), "", "-c", "kill -STOP $$ || kill -TERM $$")
	if !strings.Contains(got.stderr, "cannot be stopped here, only ended: use TERM or KILL") || got.code != 128+15 {
		t.Errorf("%d %q", got.code, got.stderr)
	}
}

// TestSyntaxErrors: what bash has messages of its own for is an error with its line and token.
func TestSyntaxErrors(t *testing.T) {
	for text, want := range map[string]string{
		"echo a\n[[ a b ]]":                "main.sh: line 2: syntax error near unexpected token `b'\nmain.sh: line 2: `[[ a b ]]'\n",
		"if [[ a = b && ]]; then :; fi":    "main.sh: line 1: syntax error near unexpected token `]]'\nmain.sh: line 1: `if [[ a = b && ]]; then :; fi'\n",
		"if true; echo a\nelse echo b\nfi": "main.sh: line 3: syntax error near unexpected token `fi'\nmain.sh: line 3: `fi'\n",
		"echo a |\n| cat":                  "main.sh: line 2: syntax error near unexpected token `|'\nmain.sh: line 2: `| cat'\n",
		"if true; then\n  # later\nfi":     "main.sh: line 3: syntax error near unexpected token `fi'\nmain.sh: line 3: `fi'\n",
		"while :; do\n\ndone; echo a":      "main.sh: line 3: syntax error near unexpected token `done'\nmain.sh: line 3: `done; echo a'\n",
		"f() {\n}\necho a":                 "main.sh: line 2: syntax error near unexpected token `}'\nmain.sh: line 2: `}'\n",
		"true &&\n; echo a":                "main.sh: line 2: syntax error near unexpected token `;'\nmain.sh: line 2: `; echo a'\n",
		"if ; then echo a; fi":             "main.sh: line 1: syntax error near unexpected token `;'\nmain.sh: line 1: `if ; then echo a; fi'\n",
		"for i in 1 2\n  echo $i\ndone":    "main.sh: line 1: syntax error: 'for foo [in words]' must be followed by 'do'\nmain.sh: line 1: `for i in 1 2'\n",
		"a=(1 2) true\necho b":             "main.sh: line 1: syntax error: inline variables cannot be arrays\nmain.sh: line 1: `a=(1 2) true'\n",
		"for x in 1; do else echo b; done": "main.sh: line 1: syntax error near unexpected token `else'\nmain.sh: line 1: `for x in 1; do else echo b; done'\n",
	} {
		m := machine{lookup: commands.Lookup, names: commands.Names(), files: map[string]string{"/home/user/main.sh": text}}
		if got := m.run(t, t.Context(), "", "main.sh"); got.stderr != want || got.code != 2 {
			t.Errorf("%q: %d %q, want %q", text, got.code, got.stderr, want)
		}
	}
}
