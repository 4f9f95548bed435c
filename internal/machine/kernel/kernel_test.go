package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// programs are the built-in programs of the tests.
var programs = map[string]Program{
	"true":  func(context.Context, *Process) int { return 0 },
	"false": func(context.Context, *Process) int { return 1 },
	"wait":  func(ctx context.Context, _ *Process) int { <-ctx.Done(); return 0 },
	"cat": func(ctx context.Context, p *Process) int {
		if _, err := io.Copy(p.Stdout(ctx), p.Stdin(ctx)); err != nil {
			return 1
		}
		return 0
	},
	"args": func(ctx context.Context, p *Process) int {
		fmt.Fprintf(p.Stdout(ctx), "%q", p.Args)
		return 0
	},
	"bomb": func(ctx context.Context, p *Process) int {
		for ctx.Err() == nil {
			if _, err := p.Start(Exec{Path: "bomb"}); err != nil {
				<-ctx.Done()
			}
		}
		return 0
	},
	"panic": func(context.Context, *Process) int { panic("oh") },
}

// start returns a kernel with the tests' programs, whose main process runs in the
// test.
func start(t *testing.T, o Options) *Process {
	t.Helper()
	var names []string
	for name := range programs {
		names = append(names, name)
	}
	bin, err := Bin(names...)
	if err != nil {
		t.Fatal(err)
	}
	o.FS, o.Bin = memfs.New(memfs.Options{}), bin
	o.Lookup = func(name string) (Program, bool) { p, ok := programs[name]; return p, ok }
	k, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.fs.MakeDevices(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.End() })
	return again(t, k)
}

// again makes another main process.
func again(t *testing.T, k *Kernel) *Process {
	t.Helper()
	main, err := k.Main(Exec{Path: "main"})
	if err != nil {
		t.Fatal(err)
	}
	return main
}

func mustStart(t *testing.T, p *Process, e Exec) *Process {
	t.Helper()
	c, err := p.Start(e)
	if err != nil {
		t.Fatalf("Start(%s): %v", e.Path, err)
	}
	return c
}

func mustWait(t *testing.T, p *Process, pid int) Waited {
	t.Helper()
	w, e := p.Wait(t.Context(), pid, 0)
	if e != abi.OK {
		t.Fatalf("Wait(%d): %v", pid, e)
	}
	return w
}

func TestPipeline(t *testing.T) {
	p := start(t, Options{})
	fs := p.FS()
	r1, w1, _ := fs.Pipe(0)
	r2, w2, _ := fs.Pipe(0)
	a := mustStart(t, p, Exec{Path: "cat", Files: map[int]*memfs.File{0: r1, 1: w2}})
	r1.Close()
	w2.Close()
	text := strings.Repeat("a line\n", 100_000)
	go func() {
		io.WriteString(p.Writer(t.Context(), w1), text)
		w1.Close()
	}()
	got, err := io.ReadAll(p.Reader(t.Context(), r2))
	if err != nil || string(got) != text {
		t.Errorf("read %d bytes of %d: %v", len(got), len(text), err)
	}
	if w := mustWait(t, p, a.PID()); w.Status != 0 {
		t.Errorf("cat: %+v", w)
	}
}

func TestBrokenPipe(t *testing.T) {
	p := start(t, Options{})
	r, w, _ := p.FS().Pipe(0)
	zero, e := p.Open(t.Context(), "/dev/zero", abi.O_RDONLY, 0)
	if e != abi.OK {
		t.Fatal(e)
	}
	c := mustStart(t, p, Exec{Path: "cat", Files: map[int]*memfs.File{0: zero, 1: w}})
	w.Close()
	r.Close()
	if got := mustWait(t, p, c.PID()).Status; got != Signalled(SIGPIPE) {
		t.Errorf("status %#x, want SIGPIPE", got)
	}
}

func TestStandardDevices(t *testing.T) {
	p := start(t, Options{})
	r, w, _ := p.FS().Pipe(0)
	c := mustStart(t, p, Exec{Files: map[int]*memfs.File{1: w}, Program: func(ctx context.Context, p *Process) int {
		f, e := p.Open(ctx, "/dev/stdout", abi.O_WRONLY, 0)
		if e != abi.OK {
			return int(e)
		}
		defer f.Close()
		io.WriteString(p.Writer(ctx, f), "hello")
		return 0
	}})
	w.Close()
	if got, _ := io.ReadAll(p.Reader(t.Context(), r)); string(got) != "hello" {
		t.Errorf("read %q", got)
	}
	if w := mustWait(t, p, c.PID()); w.Status != 0 {
		t.Errorf("%+v", w)
	}
	if _, e := p.Open(t.Context(), "/dev/stdin", abi.O_RDONLY, 0); e != abi.ENXIO {
		t.Errorf("open in no process: %v", e)
	}
}

func TestForkBomb(t *testing.T) {
	p := start(t, Options{})
	mustStart(t, p, Exec{Path: "bomb"})
	k := p.Kernel()
	var err error
	for err == nil {
		_, err = p.Start(Exec{Path: "wait"})
	}
	var errno abi.Errno
	if !errors.As(err, &errno) || errno != abi.EAGAIN || !strings.Contains(err.Error(), "at most 64 processes") {
		t.Errorf("the error is %v", err)
	}
	if n := k.End(); n != 63 {
		t.Errorf("End ended %d processes, want 63", n)
	}
	if w := mustWait(t, p, mustStart(t, p, Exec{Path: "true"}).PID()); w.Status != 0 {
		t.Errorf("after End: %+v", w)
	}
}

func TestScripts(t *testing.T) {
	p := start(t, Options{})
	fs := p.FS()
	for name, text := range map[string]string{
		"/tmp/script": "#! /usr/bin/args  one two \nbody", "/tmp/nested": "#!/tmp/script x", "/tmp/loop": "#!/tmp/loop",
		"/tmp/text": "hello", "/tmp/lost": "#!/usr/bin/perl\n",
	} {
		fs.MkdirAll("/tmp", 0o755)
		if err := fs.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fs.WriteFile("/tmp/plain", []byte("#!/bin/true"), 0o644)
	run := func(path string, args ...string) (string, error) {
		r, w, _ := fs.Pipe(0)
		c, err := p.Start(Exec{Path: path, Args: append([]string{path}, args...), Files: map[int]*memfs.File{1: w}})
		w.Close()
		if err != nil {
			return "", err
		}
		got, _ := io.ReadAll(p.Reader(t.Context(), r))
		mustWait(t, p, c.PID())
		return string(got), nil
	}
	for path, want := range map[string]string{
		"/tmp/script": `["/usr/bin/args" "one two" "/tmp/script" "a b"]`,
		"/tmp/nested": `["/usr/bin/args" "one two" "/tmp/script" "x" "/tmp/nested" "a b"]`,
	} {
		if got, err := run(path, "a b"); got != want || err != nil {
			t.Errorf("%s: %s %v, want %s", path, got, err, want)
		}
	}
	for path, want := range map[string]abi.Errno{
		"/tmp/loop": abi.ELOOP, "/tmp/text": abi.ENOEXEC, "/tmp/lost": abi.ENOENT, "/tmp/plain": abi.EACCES,
		"/tmp": abi.EACCES, "nothing": abi.ENOENT, "": abi.ENOENT, "/bin/true/x": abi.ENOTDIR,
	} {
		if _, err := run(path); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
}

func TestHandler(t *testing.T) {
	p := start(t, Options{})
	came := make(chan Signal, 9)
	ready := make(chan bool)
	c := mustStart(t, p, Exec{Program: func(ctx context.Context, c *Process) int {
		c.Handle(func(s Signal) bool { came <- s; return s != SIGHUP })
		c.Ignore(SIGTERM, true)
		mustStart(t, c, Exec{Path: "true"})
		close(ready)
		<-ctx.Done()
		var killed *Killed
		if !errors.As(context.Cause(ctx), &killed) || killed.Signal != SIGHUP {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
		return 0
	}})
	<-ready
	if s := <-came; s != SIGCHLD {
		t.Errorf("signal %d, want SIGCHLD", s)
	}
	for _, s := range []Signal{SIGTERM, SIGINT, SIGHUP} {
		if e := p.Kill(c.PID(), s); e != abi.OK {
			t.Errorf("Kill(%d): %v", s, e)
		}
	}
	if s := <-came; s != SIGINT {
		t.Errorf("signal %d, want SIGINT", s)
	}
	if w := mustWait(t, p, c.PID()); w.Status != Signalled(SIGHUP) {
		t.Errorf("%+v", w)
	}
	if e := p.Kill(p.PID(), SIGSTOP); e != abi.EOPNOTSUPP {
		t.Errorf("SIGSTOP: %v", e)
	}
	if e := p.Kill(p.PID(), 99); e != abi.EINVAL {
		t.Errorf("signal 99: %v", e)
	}
}

func TestReplace(t *testing.T) {
	p := start(t, Options{})
	r, w, _ := p.FS().Pipe(0)
	c := mustStart(t, p, Exec{Files: map[int]*memfs.File{1: w, 5: w}, Program: func(_ context.Context, c *Process) int {
		if err := c.Replace(Exec{Path: "args", Args: []string{"x"}, Files: map[int]*memfs.File{1: c.File(1)}}); err != nil {
			t.Error(err)
		}
		return 3
	}})
	w.Close()
	if got, _ := io.ReadAll(p.Reader(t.Context(), r)); string(got) != `["x"]` {
		t.Errorf("read %q", got)
	}
	if w := mustWait(t, p, -1); w.PID != c.PID() || w.Status != 0 {
		t.Errorf("%+v", w)
	}
}

func TestPanic(t *testing.T) {
	logged := make(chan error, 2)
	p := start(t, Options{Panicked: func(err error) { logged <- err }})
	k := p.Kernel()
	other := mustStart(t, p, Exec{Path: "wait"})
	r, w, _ := p.FS().Pipe(0)
	c := mustStart(t, p, Exec{Path: "panic", Files: map[int]*memfs.File{2: w}})
	w.Close()
	if got, _ := io.ReadAll(p.Reader(t.Context(), r)); string(got) != "panic: panic: oh (a bug of coderunner's program, which ended)\n" {
		t.Errorf("it writes %q", got)
	}
	if w := mustWait(t, p, c.PID()); w.Status.Code() != 134 {
		t.Errorf("%+v", w)
	}
	if err := <-logged; !strings.Contains(err.Error(), "panic: oh\n") || !strings.Contains(err.Error(), "kernel_test.go") {
		t.Errorf("logged: %v", err)
	}
	if _, ended := other.Status(); ended || k.Failure() != nil {
		t.Errorf("another process has ended: %v; the failure is %v", ended, k.Failure())
	}
	// What the host runs as the main process ends all, but not what replaces it.
	replace := func(_ context.Context, p *Process) int {
		if err := p.Replace(Exec{Path: "panic"}); err != nil {
			t.Error(err)
		}
		return 0
	}
	if status, err := p.Run(t.Context(), replace); err != nil || status.Code() != 134 || k.Failure() != nil {
		t.Errorf("replaced: %v, %v; the failure is %v", status, err, k.Failure())
	}
	<-logged
	p = again(t, k)
	if _, err := p.Run(t.Context(), programs["panic"]); err != nil || k.Failure() == nil || !strings.Contains(k.Failure().Error(), "panic: oh") {
		t.Errorf("main: %v; the failure is %v", err, k.Failure())
	}
	k.End()

	p = again(t, k)
	full := p.FS().NewFile(memfs.NewOutput("stdout", refuses{}), abi.O_WRONLY, abi.S_IFIFO)
	zero, _ := p.Open(t.Context(), "/dev/zero", abi.O_RDONLY, 0)
	mustStart(t, p, Exec{Path: "cat", Files: map[int]*memfs.File{0: zero, 1: full}})
	for {
		if w, e := p.Wait(t.Context(), -1, 0); e != abi.OK {
			break
		} else if w.Status != Exited(1) && w.Status != Signalled(SIGKILL) {
			t.Errorf("%+v", w)
		}
	}
	k.End()
	if k.Failure() != nil {
		t.Errorf("End left the failure %v", k.Failure())
	}
}

type refuses struct{}

func (refuses) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestMainProcess runs the main process itself.
func TestMainProcess(t *testing.T) {
	p := start(t, Options{})
	st, err := p.Run(t.Context(), func(ctx context.Context, p *Process) int {
		if e := p.Kill(p.PID(), SIGTERM); e != abi.OK {
			return int(e)
		}
		<-ctx.Done()
		return 0
	})
	if st.Signal() != SIGTERM || err != nil {
		t.Errorf("status %#x, %v", st, err)
	}
}

func TestProcessors(t *testing.T) {
	room := 0
	k := start(t, Options{MaxProcesses: 5, Room: func() int { return room }}).Kernel()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for in, want := range map[int]int{0: 1, 1: 1, 3: 2, 5: 4, 100: 4} {
		if room = in; k.Processors() != want {
			t.Errorf("room for %d programs: %d processors, want %d", in, k.Processors(), want)
		}
	}
}

// TestAdmit: a program that is refused does not start, and one that does not start after
// all is undone.
func TestAdmit(t *testing.T) {
	admitted := 0
	p := start(t, Options{MaxProcesses: 2, Admit: func(name string) (func(), error) {
		if name == "false" {
			return nil, abi.ENOMEM
		}
		admitted++
		return func() { admitted-- }, nil
	}})
	if _, err := p.Start(Exec{Path: "false"}); !errors.Is(err, abi.ENOMEM) {
		t.Errorf("a refused program: %v", err)
	}
	mustStart(t, p, Exec{Path: "true"})
	if _, err := p.Start(Exec{Path: "true"}); !errors.Is(err, abi.EAGAIN) || admitted != 1 {
		t.Errorf("one process too many: %v, %d admitted", err, admitted)
	}
}
