package commands

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"

	"github.com/google/shlex"
)

// try runs a command on hostile input: it must end in time, and never panic.
func try(t *testing.T, stdin string, args ...string) (status int, stdout string) {
	t.Helper()
	m := newMachine(t)
	for name, data := range map[string]string{"/w/a": "one\ntwo\nthree\n", "/w/in": stdin} {
		if err := m.fs.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	file := func(w io.Writer) *memfs.File {
		return m.fs.NewFile(memfs.NewOutput("output", w), abi.O_WRONLY, abi.S_IFIFO|0o600)
	}
	in := m.fs.NewFile(memfs.NewInput(strings.NewReader(stdin)), abi.O_RDONLY, abi.S_IFIFO|0o600)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	p, err := m.main.Start(kernel.Exec{Path: args[0], Args: args, Env: m.main.Env, Dir: "/w", Umask: 0o022,
		Files: map[int]*memfs.File{0: in, 1: file(&limited{w: &out}), 2: file(io.Discard)}})
	if err != nil {
		t.Fatal(err)
	}
	w, e := m.main.Wait(ctx, p.PID(), 0)
	if e != abi.OK { // it may run as long as it likes, but not longer than it may
		m.main.Kill(p.PID(), kernel.SIGKILL)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if w, e = m.main.Wait(ctx, p.PID(), 0); e != abi.OK {
			t.Fatalf("%q does not end after SIGKILL", args)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%q ended %v after SIGKILL", args, took)
		}
	}
	if err := m.k.Failure(); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	if bytes, _ := m.fs.Usage(); bytes > 64<<20 {
		t.Errorf("%q leaves %d bytes charged", args, bytes)
	}
	return w.Status.Code(), out.String()
}

// limited drops what is more than enough.
type limited struct {
	w *strings.Builder
}

func (l *limited) Write(b []byte) (int, error) {
	if l.w.Len() < 1<<20 {
		l.w.Write(b)
	}
	return len(b), nil
}

// seeds are the lines of cases that run a command, for its fuzz test.
func seeds(f *testing.F, file, command string, add func(args []string)) {
	_, cases := readCases(f, "testdata/"+file+".cases")
	for _, c := range cases {
		if args, _ := shlex.Split(c.line); len(args) > 1 && args[0] == command {
			add(args)
		}
	}
}

func FuzzSed(f *testing.F) {
	seeds(f, "sed", "sed", func(args []string) { f.Add(args[1], "hello\nworld\n") })
	f.Fuzz(func(t *testing.T, script, in string) { try(t, in, "sed", script) })
}

func FuzzAwk(f *testing.F) {
	seeds(f, "awk", "awk", func(args []string) { f.Add(args[1], "a b c\n1 2 3\n") })
	f.Fuzz(func(t *testing.T, program, in string) { try(t, in, "awk", program) })
}

func FuzzBC(f *testing.F) {
	_, cases := readCases(f, "testdata/bc.cases")
	for _, c := range cases {
		args, _ := shlex.Split(c.line)
		f.Add(args[1] + "\n")
	}
	f.Fuzz(func(t *testing.T, program string) { try(t, program, "bc", "-l") })
}

func FuzzPatch(f *testing.F) {
	ar, _ := readCases(f, "testdata/system.cases")
	for _, file := range ar.Files {
		if strings.HasSuffix(file.Name, ".diff") {
			f.Add(string(file.Data))
		}
	}
	f.Add("2,3c2\n< two\n< three\n---\n> x\n")
	f.Fuzz(func(t *testing.T, diff string) { try(t, diff, "patch", "a") })
}

// FuzzArgs calls any command with any words.
func FuzzArgs(f *testing.F) {
	for _, name := range Names() {
		f.Add(name, "-x", "a")
		f.Add(name, "--help", "")
	}
	for _, file := range []string{"text", "grep", "files", "system"} {
		_, cases := readCases(f, "testdata/"+file+".cases")
		for _, c := range cases {
			if args, _ := shlex.Split(c.line); len(args) == 3 {
				f.Add(args[0], args[1], args[2])
			}
		}
	}
	f.Fuzz(func(t *testing.T, name, a, b string) {
		if table[name].run != nil && name != "yes" && name != "sleep" && !strings.ContainsRune(a+b, 0) {
			try(t, "one two\nthree\n", name, a, b)
		}
	})
}

// FuzzArchives reads any bytes as archives of all kinds.
func FuzzArchives(f *testing.F) {
	for _, line := range []string{"tar czf - a", "tar cf - a", "zip -q - a", "gzip -c a", "xz -c a"} {
		m := newMachine(f)
		m.fs.WriteFile("/w/a", []byte("some text\n"), 0o644)
		f.Add([]byte(m.runLine(f, line).Stdout))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, args := range [][]string{{"tar", "xf", "in"}, {"unzip", "-o", "in"}, {"zcat", "in"}, {"xzcat", "in"}, {"bzcat", "in"}} {
			try(t, string(data), args...)
		}
	})
}
