// Package compiler compiles untrusted shared libraries, and modules that programs bring,
// each in a process of its own with limits on memory and time: it is easy to write code that
// takes wazero's compiler any amount of either.
//
// The cost is quadratic in calls and globals, blocks and known bounds, loops and
// locals: 100,000 loads and branches, in 1 MB, need 120 GB. A bound computed from
// the module would have to know each of these shapes, and would refuse honest
// libraries. A process costs 30 ms; small libraries, and parts of split ones, share some that
// last (lasting.go).
//
// The process is this binary again, with the command [Command]. It sets limits
// for itself before it reads anything: it is our code, only the library is not.
package compiler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"coderunner/internal/process"
	"coderunner/internal/sysmem"
	"coderunner/pyodide"
	"coderunner/runners/wasi/engine"
)

// Command is the hidden command of the binary that calls [Main] with the
// arguments after it.
const Command = "compile-library"

// maxTime bounds a library's processor time, maxWait its elapsed time.
const (
	maxTime = 5 * time.Minute
	maxWait = 20 * time.Minute
)

// exitBudget is the exit code when the memory is exhausted.
const exitBudget = 3

// Compiler starts the compiling processes.
type Compiler struct {
	memory int64 // of all processes, in bytes
	free   *semaphore.Weighted
	wait   time.Duration // of an idle process
	mu     sync.Mutex
	idle   []*lasting
}

// New returns a Compiler whose processes share memory bytes.
func New(memory int64) *Compiler {
	return &Compiler{memory: memory, free: semaphore.NewWeighted(memory), wait: lastingWait}
}

// command returns the other process, not started, which ends with this one as long as
// alive is open.
func command(ctx context.Context, dir string, memory int64) (cmd *exec.Cmd, alive io.WriteCloser, err error) {
	self := "/proc/self/exe" // this binary, even if its file was replaced
	if _, err := os.Stat(self); err != nil {
		if self, err = os.Executable(); err != nil {
			return nil, nil, fmt.Errorf("compile a library: %w", err)
		}
	}
	cmd = exec.CommandContext(ctx, self, Command, dir, strconv.FormatInt(memory, 10))
	cmd.Args[0] = os.Args[0] // a binary with several programs looks at it
	cmd.Env = []string{}
	if alive, err = cmd.StdinPipe(); err != nil {
		return nil, nil, fmt.Errorf("compile a library: %w", err)
	}
	return cmd, alive, nil
}

// Compile compiles the library in dir with at most memory bytes: see
// [pyodide.Config].
func (c *Compiler) Compile(ctx context.Context, dir string, memory int64) error {
	if memory == 0 {
		return c.small(ctx, dir)
	}
	memory = min(memory, c.memory)
	if err := c.free.Acquire(ctx, memory); err != nil {
		return context.Cause(ctx)
	}
	defer c.free.Release(memory)
	limited, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	cmd, alive, err := command(limited, dir, memory)
	if err != nil {
		return err
	}
	said := &head{}
	cmd.Stderr = said
	err = cmd.Run()
	alive.Close()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &exit):
		return fmt.Errorf("compile a library: %w", err)
	case exit.ExitCode() == exitFailed:
		return errors.New(said.String())
	}
	late := limited.Err() != nil || exit.UserTime()+exit.SystemTime() >= maxTime
	switch {
	case exit.ExitCode() == exitBudget, ranOut(said.String()), !late && process.PeakMemory(exit.ProcessState) > memory/3:
		return fmt.Errorf("%w: %d MiB of memory are not enough", pyodide.ErrBudget, memory>>20)
	case late:
		return fmt.Errorf("%w: %v of processor time are not enough", pyodide.ErrBudget, maxTime)
	}
	return fmt.Errorf("compile a library: %w: %s", exit, said)
}

// ranOut reports whether a crash of Go's runtime is for want of memory: a new
// thread's stack counts, too. C's runtime, where there is one, does not say so: it uses
// memory that it did not get, and what had much of its limit is taken to have wanted more.
func ranOut(crash string) bool {
	return slices.ContainsFunc([]string{
		"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread",
	}, func(words string) bool { return strings.Contains(crash, words) })
}

// exitFailed is the exit code when the library cannot be compiled; standard
// error says why.
const exitFailed = 1

// Main is the other process: args are the directory and the memory in bytes. It
// returns the exit code.
func Main(ctx context.Context, args []string, stdin io.Reader, stderr io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintf(stderr, "%s DIRECTORY BYTES is for coderunner itself\n", Command)
		return exitFailed
	}
	memory, err := strconv.ParseInt(args[1], 10, 64)
	if err == nil {
		err = limit(memory, maxTime)
	}
	if err != nil {
		fmt.Fprintf(stderr, "limit memory and time: %v\n", err)
		return exitFailed
	}
	debug.SetGCPercent(400)         // a twelfth less processor time, as long as there is memory
	ballast := make([]byte, 16<<20) // never written to: the collector lets the heap of a small module grow to five times as much
	defer runtime.KeepAlive(ballast)
	debug.SetMemoryLimit(memory / 4 * 3)
	go watch(memory)
	if args[0] == lastingDir {
		return serve(ctx, stdin, stderr)
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		os.Exit(exitFailed) // the parent has ended
	}()
	build := pyodide.BuildLibrary
	if !pyodide.IsLibrary(args[0]) {
		build = engine.Build
	}
	if err := build(ctx, args[0]); err != nil {
		fmt.Fprint(stderr, err)
		return exitFailed
	}
	return 0
}

// watch ends the process when its memory is nearly exhausted: not every system
// enforces the limit, and where one does Go's runtime would report a crash.
func watch(memory int64) {
	for range time.Tick(20 * time.Millisecond) {
		if sysmem.Heap() > memory/10*9 {
			os.Exit(exitBudget)
		}
	}
}

// head keeps the beginning of the output: one line, or a crash report.
type head struct{ b bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	const keep = 4 << 10
	h.b.Write(p[:min(len(p), keep-min(keep, h.b.Len()))])
	return len(p), nil
}

func (h *head) String() string {
	line, _, _ := strings.Cut(strings.TrimSpace(h.b.String()), "\n")
	return line
}
