// Package command is what all commands have in common: a [Call] with its options,
// files, messages and children, and the texts and quotes of GNU's messages.
//
// A command ends itself where it finds a mistake, as a program does with os.Exit:
// Exit, Refuse, Must, Parse, Int, Input and Output panic with what [Run] recovers.
// They are for the goroutine that Run runs the command in.
package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/regex"
)

// Call is one running command: a process with the conveniences that every
// command uses. Standard output is buffered; it is flushed before a message
// goes to standard error, before a child starts and at the end.
type Call struct {
	Memory
	Ctx            context.Context
	Process        *kernel.Process
	FS             *memfs.FS
	Name           string   // as it was called: the base of argv[0]
	synopsis, help string   // what --help prints
	Args           []string // without argv[0]
	Dir            string
	Out            *bufio.Writer

	stdin  *bufio.Reader // made by the first use of In
	Status int           // what end returns if nothing worse happened
	Files  []io.Closer   // closed at the end
}

// Run runs a command as a process: run's result is the exit status unless the
// output could not be written.
func Run(ctx context.Context, p *kernel.Process, name, synopsis, help string, run func(*Call) int) int {
	c := &Call{Ctx: ctx, Process: p, FS: p.FS(), Name: name, synopsis: synopsis, help: help, Dir: p.Dir, Memory: Memory{fs: p.FS(), stack: &p.Stack, charged: stackStep}}
	if len(p.Args) > 0 {
		c.Args = p.Args[1:]
	}
	c.Out = bufio.NewWriterSize(p.Stdout(ctx), CopySize)
	defer c.close()
	return c.end(c.status(run))
}

// exit is what a command panics with to end itself, as a program does with
// os.Exit. Only status recovers it.
type exit int

// status runs a command and returns its exit status.
func (c *Call) status(run func(*Call) int) (status int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exit:
			status = int(r)
		default:
			panic(r)
		}
	}()
	return run(c)
}

// Exit ends the command with a message.
func (c *Call) Exit(status int, format string, args ...any) {
	panic(exit(c.Die(status, format, args...)))
}

// Must ends the command with status 1 if there is an error.
func (c *Call) Must(err error) {
	if err != nil {
		c.Exit(1, "%s", Text(err))
	}
}

// Need ends the command if there is an error, whose text it puts behind the message, as
// error(3) does.
func (c *Call) Need(err error, status int, format string, args ...any) {
	if err != nil {
		c.Exit(status, format+": %s", append(args, Text(err))...)
	}
}

// thrown is what Check panics with and Catch recovers.
type thrown struct{ error }

// Check ends what Catch runs, if there is an error. Interpreters that recurse have it
// instead of an error as each function's result.
func (c *Call) Check(err error) {
	if err != nil {
		panic(thrown{err})
	}
}

// Proceed ends what Catch runs if the command is to end.
func (c *Call) Proceed() {
	if c.Stopped() {
		c.Check(ErrStopped)
	}
}

// Throw ends what Catch runs with a message.
func (c *Call) Throw(format string, args ...any) { c.Check(fmt.Errorf(format, args...)) }

// Catch runs f and returns the error that ended it. Recursions that f was in have ended.
func (c *Call) Catch(f func()) (err error) {
	used := c.stack.Used()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case thrown:
			err = r.error
			c.stack.Leave(c.stack.Used() - used)
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// ErrStopped ends the reading loops of a command whose output nobody reads any
// more, or that was cancelled.
var ErrStopped = errors.New("stopped")

// ErrMemory is the refusal of the memory budget.
var ErrMemory = errors.New("memory exhausted")

// ErrDeep is the refusal of a recursion for which the stack has no room.
var ErrDeep = errors.New("nested too deeply")

// CopySize is the size of the buffers that data streams through.
const CopySize = 64 << 10

// In returns standard input.
func (c *Call) In() *bufio.Reader {
	if c.stdin == nil {
		c.stdin = bufio.NewReaderSize(&guard{c, c.Process.Stdin(c.Ctx), c.Process.File(0)}, CopySize)
	}
	return c.stdin
}

// guard is a reader that ends when the command should: at every read it looks
// whether the command was cancelled or its output is gone.
type guard struct {
	c *Call
	r io.Reader
	f *memfs.File // what r reads, if output is written before a read that waits
}

// Guarded returns r, which ends when the command should.
func (c *Call) Guarded(r io.Reader) io.Reader { return &guard{c, r, nil} }

func (g *guard) Read(b []byte) (int, error) {
	if g.c.Stopped() {
		return 0, ErrStopped
	}
	if g.f != nil && g.c.Out.Buffered() > 0 && g.f.Ready()&(abi.POLLIN|abi.POLLHUP) == 0 {
		g.c.Out.Flush()
	}
	return g.r.Read(b)
}

// Stopped reports whether the command was cancelled or its output is gone.
// Loops that neither read nor write call it.
func (c *Call) Stopped() bool {
	if c.Ctx.Err() != nil {
		return true
	}
	_, err := c.Out.Write(nil)
	return err != nil
}

// Errorf writes a message to standard error, after what was printed before.
func (c *Call) Errorf(format string, args ...any) {
	c.Warnf(c.Name+": "+format+"\n", args...)
}

// Warnf writes to standard error as it is.
func (c *Call) Warnf(format string, args ...any) {
	c.Out.Flush()
	fmt.Fprintf(c.Process.Stderr(c.Ctx), format, args...)
}

// Fail is Errorf that also makes the exit status 1.
func (c *Call) Fail(format string, args ...any) {
	c.Errorf(format, args...)
	c.Status = max(c.Status, 1)
}

// Die writes a message and returns the status.
func (c *Call) Die(status int, format string, args ...any) int {
	c.Errorf(format, args...)
	return status
}

// Failed reports an error about a file: GNU's "name: file: text". What ended
// only because the command is to end is not reported.
func (c *Call) Failed(name string, err error) {
	if err != nil && !errors.Is(err, ErrStopped) && c.Ctx.Err() == nil {
		if c.Name == "jq" {
			c.Fail("error: Could not open file %s: %s", name, Text(err))
			return
		}
		c.Fail("%s: %s", Quotef(name), Text(err))
	}
}

// Printf and Print print to standard output.
func (c *Call) Printf(format string, args ...any) { fmt.Fprintf(c.Out, format, args...) }
func (c *Call) Print(s string)                    { c.Out.WriteString(s) }

// Env returns the value of an environment variable.
func (c *Call) Env(name string) string {
	value := ""
	for _, e := range c.Process.Env {
		if k, v, _ := strings.Cut(e, "="); k == name {
			value = v
		}
	}
	return value
}

// Limits returns those of the command's regular expressions.
func (c *Call) Limits() regex.Limits {
	return regex.Limits{Ctx: c.Ctx, Hold: func(n int) error { return c.Reserve(int64(n)) }}
}

// end flushes the output and returns the exit status: that of a process killed
// by SIGPIPE if nobody read what was written.
func (c *Call) end(status int) int {
	err := c.Out.Flush()
	switch {
	case err == nil || c.Ctx.Err() != nil:
		return status
	case errors.Is(err, abi.EPIPE):
		return 128 + 13
	}
	fmt.Fprintf(c.Process.Stderr(c.Ctx), "%s: write error: %s\n", c.Name, Text(err))
	return max(status, 1)
}

// close gives back what the command holds, also after a panic.
func (c *Call) close() {
	unread(c)
	for _, f := range c.Files {
		f.Close()
	}
	c.FS.Unreserve(c.Reserved)
}

// unread puts standard input, if it is a file, back to the end of what the command has
// used: (head -n 1; sort) < file.
func unread(c *Call) {
	if c.stdin == nil || c.stdin.Buffered() == 0 {
		return
	}
	if f := c.Process.File(0); f != nil {
		f.SeekTo(-int64(c.stdin.Buffered()), io.SeekCurrent)
	}
}

// Abs returns the absolute path of name. It is not cleaned: ".." after a
// symbolic link is for the file system to resolve.
func (c *Call) Abs(name string) string {
	if name == "" || path.IsAbs(name) {
		return name
	}
	return strings.TrimSuffix(c.Dir, "/") + "/" + name
}

// Lookup finds a file, following a symbolic link at the end or not.
func (c *Call) Lookup(name string, follow bool) (*memfs.Node, abi.Errno) {
	return c.FS.Lookup(nil, c.Abs(name), follow)
}

// Stat describes a file; Lstat does not follow a symbolic link at the end.
func (c *Call) Stat(name string) (abi.Stat, error)  { return c.StatOf(name, true) }
func (c *Call) Lstat(name string) (abi.Stat, error) { return c.StatOf(name, false) }

// StatOf is Stat or Lstat.
func (c *Call) StatOf(name string, follow bool) (abi.Stat, error) {
	n, e := c.Lookup(name, follow)
	if e != abi.OK {
		return abi.Stat{}, e
	}
	return c.FS.Stat(n), nil
}

// IsDir reports whether name is a directory, or a symbolic link to one.
func (c *Call) IsDir(name string) bool {
	st, err := c.Stat(name)
	return err == nil && st.IsDir()
}

// Zone is the time zone that TZ names.
func (c *Call) Zone() *time.Location { return clock.Zone(c.Env("TZ")) }

// flusher is standard output, flushed at every write so that whoever reads the
// pipe sees it at once.
type flusher struct{ c *Call }

// Unbuffered returns c's standard output, flushed at every write.
func Unbuffered(c *Call) io.Writer { return flusher{c} }

func (f flusher) Write(b []byte) (int, error) {
	n, err := f.c.Out.Write(b)
	if err == nil {
		err = f.c.Out.Flush()
	}
	return n, err
}
