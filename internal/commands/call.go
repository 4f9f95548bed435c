package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"coderunner/internal/calendar"
	"coderunner/internal/kernel"
	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// call is one running command: a process with the conveniences that every
// command uses. Standard output is buffered; it is flushed before a message
// goes to standard error, before a child starts and at the end.
type call struct {
	ctx  context.Context
	p    *kernel.Process
	fs   *memfs.FS
	name string   // as it was called: the base of argv[0]
	args []string // without argv[0]
	dir  string
	out  *bufio.Writer

	stdin    *bufio.Reader // made by the first use of in
	status   int           // what end returns if nothing worse happened
	reserved int64         // bytes charged to the file system's budget
	files    []io.Closer   // closed at the end
}

// errStopped ends the reading loops of a command whose output nobody reads any
// more, or that was cancelled.
var errStopped = errors.New("stopped")

// errMemory is the refusal of the memory budget.
var errMemory = errors.New("memory exhausted")

// copySize is the size of the buffers that data streams through.
const copySize = 64 << 10

// in returns standard input.
func (c *call) in() *bufio.Reader {
	if c.stdin == nil {
		c.stdin = bufio.NewReaderSize(&guard{c, c.p.Stdin(c.ctx)}, copySize)
	}
	return c.stdin
}

// guard is a reader that ends when the command should: at every read it looks
// whether the command was cancelled or its output is gone.
type guard struct {
	c *call
	r io.Reader
}

func (g *guard) Read(b []byte) (int, error) {
	if g.c.stopped() {
		return 0, errStopped
	}
	return g.r.Read(b)
}

// stopped reports whether the command was cancelled or its output is gone.
// Loops that neither read nor write call it.
func (c *call) stopped() bool {
	if c.ctx.Err() != nil {
		return true
	}
	_, err := c.out.Write(nil)
	return err != nil
}

// errorf writes a message to standard error, after what was printed before.
func (c *call) errorf(format string, args ...any) {
	c.warnf(c.name+": "+format+"\n", args...)
}

// warnf writes to standard error as it is.
func (c *call) warnf(format string, args ...any) {
	c.out.Flush()
	fmt.Fprintf(c.p.Stderr(c.ctx), format, args...)
}

// fail is errorf that also makes the exit status 1.
func (c *call) fail(format string, args ...any) {
	c.errorf(format, args...)
	c.status = max(c.status, 1)
}

// die writes a message and returns the status.
func (c *call) die(status int, format string, args ...any) int {
	c.errorf(format, args...)
	return status
}

// failed reports an error about a file: GNU's "name: file: text". What ended
// only because the command is to end is not reported.
func (c *call) failed(name string, err error) {
	if err != nil && !errors.Is(err, errStopped) && c.ctx.Err() == nil {
		if c.name == "jq" {
			c.fail("error: Could not open file %s: %s", name, text(err))
			return
		}
		c.fail("%s: %s", quotef(name), text(err))
	}
}

func (c *call) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }
func (c *call) print(s string)                    { c.out.WriteString(s) }

// env returns the value of an environment variable.
func (c *call) env(name string) string {
	value := ""
	for _, e := range c.p.Env {
		if k, v, _ := strings.Cut(e, "="); k == name {
			value = v
		}
	}
	return value
}

// reserve charges n bytes that the command is about to hold.
func (c *call) reserve(n int64) error {
	if !c.fs.Reserve(n) {
		return errMemory
	}
	c.reserved += n
	return nil
}

// release gives back n of the reserved bytes.
func (c *call) release(n int64) {
	c.fs.Unreserve(n)
	c.reserved -= n
}

// end flushes the output and returns the exit status: that of a process killed
// by SIGPIPE if nobody read what was written.
func (c *call) end(status int) int {
	err := c.out.Flush()
	switch {
	case err == nil || c.ctx.Err() != nil:
		return status
	case errors.Is(err, abi.EPIPE):
		return 128 + 13
	}
	fmt.Fprintf(c.p.Stderr(c.ctx), "%s: write error: %s\n", c.name, text(err))
	return max(status, 1)
}

// close gives back what the command holds, also after a panic.
func (c *call) close() {
	for _, f := range c.files {
		f.Close()
	}
	c.fs.Unreserve(c.reserved)
}

// abs returns the absolute path of name. It is not cleaned: ".." after a
// symbolic link is for the file system to resolve.
func (c *call) abs(name string) string {
	if name == "" || path.IsAbs(name) {
		return name
	}
	return strings.TrimSuffix(c.dir, "/") + "/" + name
}

// lookup finds a file, following a symbolic link at the end or not.
func (c *call) lookup(name string, follow bool) (*memfs.Node, abi.Errno) {
	return c.fs.Lookup(nil, c.abs(name), follow)
}

// stat describes a file; lstat does not follow a symbolic link at the end.
func (c *call) stat(name string) (abi.Stat, error)  { return c.statOf(name, true) }
func (c *call) lstat(name string) (abi.Stat, error) { return c.statOf(name, false) }

func (c *call) statOf(name string, follow bool) (abi.Stat, error) {
	n, e := c.lookup(name, follow)
	if e != abi.OK {
		return abi.Stat{}, e
	}
	return c.fs.Stat(n), nil
}

// isDir reports whether name is a directory, or a symbolic link to one.
func (c *call) isDir(name string) bool {
	st, err := c.stat(name)
	return err == nil && st.IsDir()
}

// zone is the time zone that TZ names.
func (c *call) zone() *time.Location { return calendar.Zone(c.env("TZ")) }
