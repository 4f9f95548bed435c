package shell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell/vars"
)

// capture is the stream that a command substitution's commands write to. Its bytes
// are reserved of the program's memory until they are the shell's.
type capture struct {
	fs       *memfs.FS
	closed   chan struct{}
	mu       sync.Mutex
	buf      []byte // guarded by mu
	reserved int64  // likewise
	full     bool   // likewise
}

func (c *capture) Read(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.EBADF }

func (c *capture) Write(_ context.Context, p []byte, _ bool) (int, abi.Errno) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if need := int64(len(c.buf) + len(p)); need > c.reserved {
		more := max(need-c.reserved, c.reserved, 16<<10) // the buffer doubles, too
		if !c.fs.Reserve(more) {
			c.full = true
			return 0, abi.ENOSPC
		}
		c.reserved += more
	}
	c.buf = append(c.buf, p...)
	return len(p), abi.OK
}

func (c *capture) Close() abi.Errno {
	close(c.closed)
	return abi.OK
}

// take returns what was written, without NULs and the newlines at its end.
func (c *capture) take() (s string, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fs.Unreserve(c.reserved)
	c.reserved = 0
	return strings.TrimRight(string(c.buf), "\n"), c.full
}

// output runs the commands of a substitution in a subshell and returns what they
// print.
func (sh *shell) output(cs *syntax.CmdSubst) (string, error) {
	if word := fileOf(cs); word != nil {
		name, err := sh.ex.Literal(word)
		if err != nil {
			return "", err
		}
		s, err := sh.readFile(name, 1<<40)
		if sh.substatus = 0; err != nil && err != vars.ErrMemory {
			sh.report(err)
			sh.substatus = 1
			return "", nil
		}
		return strings.TrimRight(s, "\n"), err
	}
	c := &capture{fs: sh.files.FS, closed: make(chan struct{})}
	sub := sh.subshell()
	sub.levels++
	sub.files.Replace(1, sh.files.FS.NewFile(c, abi.O_WRONLY, abi.S_IFIFO|0o600))
	if !sh.opts.InheritErrexit && !sh.opts.Posix {
		sub.opts.Errexit = false
	}
	sh.substatus = sh.within(sub, cs.Stmts)
	select {
	case <-c.closed: // also by what it left in the background
	case <-sh.ctx.Done():
	}
	s, full := c.take()
	if full || !sh.Room(int64(len(s))) {
		return "", vars.ErrMemory
	}
	if strings.Contains(s, "\x00") {
		sh.errorf("warning: command substitution: ignored null byte in input")
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return s, nil
}

// fileOf returns the file of $(<file).
func fileOf(cs *syntax.CmdSubst) *syntax.Word {
	if len(cs.Stmts) != 1 {
		return nil
	}
	st := cs.Stmts[0]
	if st.Cmd != nil || st.Negated || st.Background || len(st.Redirs) != 1 || st.Redirs[0].Op != syntax.RdrIn || st.Redirs[0].N != nil {
		return nil
	}
	return st.Redirs[0].Word
}

// substitute starts the process of <(…) or >(…) and returns the path of its pipe,
// which the command finds as a descriptor.
func (sh *shell) substitute(ps *syntax.ProcSubst) (string, error) {
	r, w, e := sh.files.FS.Pipe(0)
	if e != abi.OK {
		return "", vars.ErrMemory
	}
	sub := sh.subshell()
	sub.levels++
	ours := r
	if ps.Op == syntax.CmdIn {
		sub.files.Replace(1, w)
	} else {
		sub.files.Replace(0, r)
		ours = w
	}
	sub.execs = len(ps.Stmts) == 1 && alone(ps.Stmts[0])
	c, err := sh.spawn(sub, ps.Stmts)
	if err != nil {
		ours.Close()
		sh.cannotFork(err)
		return "", err
	}
	sh.addJob(c.PID(), "").hidden = true
	if fd := sh.files.Highest(); fd > 0 {
		if err := sh.files.FS.DescriptorDevice(fd); err != nil {
			ours.Close()
			return "", err
		}
		sh.files.FDs[fd] = ours
		sh.files.Coprocs = slices.DeleteFunc(slices.Clone(sh.files.Coprocs), func(n int) bool { return n == fd }) // one that has ended had it
		sh.cleanup = append(sh.cleanup, func() {
			if sh.files.FDs[fd] == ours {
				ours.Close()
				delete(sh.files.FDs, fd)
			}
		})
		return "/dev/fd/" + strconv.Itoa(fd), nil
	}
	ours.Close()
	return "", fmt.Errorf("too many process substitutions")
}
