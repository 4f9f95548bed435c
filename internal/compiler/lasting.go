package compiler

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/pyodide"
)

// A lasting process compiles many small things, small libraries and the parts of split ones, of
// which a program waits for dozens: starting a process takes longer than most of them. It reads
// the directory of one in each line, and answers with a line that begins with replied. Its
// limits are those of all that it compiles: when it dies of one, the next is started.

const (
	lastingDir    = "-" // in place of a directory, in the arguments
	lastingMemory = 512 << 20
	replied       = "compiled:"

	// lastingWait is how long a process waits for the next directory.
	lastingWait = 3 * time.Second
)

type lasting struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	replies *bufio.Scanner
	expires *time.Timer // while it is idle
}

// small compiles in an idle lasting process, or a new one. What an idle one dies of is tried once
// more.
func (c *Compiler) small(ctx context.Context, dir string) error {
	memory := min(lastingMemory, c.memory)
	if err := c.free.Acquire(ctx, memory); err != nil {
		return context.Cause(ctx)
	}
	defer c.free.Release(memory)
	limited, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for {
		l := c.takeIdle()
		used := l != nil
		if !used {
			var err error
			if l, err = startLasting(memory); err != nil {
				return err
			}
		}
		alive, err := l.compile(limited, dir)
		switch {
		case alive:
			c.putIdle(l)
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !used:
			return fmt.Errorf("%w: %d MiB of memory or %v of processor time are not enough", pyodide.ErrBudget, memory>>20, maxTime)
		}
	}
}

// takeIdle returns an idle process, nil if there is none.
func (c *Compiler) takeIdle() *lasting {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.idle) - 1
	if n < 0 {
		return nil
	}
	l := c.idle[n]
	c.idle = c.idle[:n]
	l.expires.Stop()
	return l
}

// putIdle keeps a process for a while.
func (c *Compiler) putIdle(l *lasting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, l)
	l.expires = time.AfterFunc(c.wait, func() {
		c.mu.Lock()
		at := slices.Index(c.idle, l)
		if at >= 0 {
			c.idle = slices.Delete(c.idle, at, at+1)
		}
		c.mu.Unlock()
		if at >= 0 {
			l.end()
		}
	})
}

// Close ends the processes that are idle.
func (c *Compiler) Close() {
	for l := c.takeIdle(); l != nil; l = c.takeIdle() {
		l.end()
	}
}

func startLasting(memory int64) (*lasting, error) {
	cmd, stdin, err := command(context.Background(), lastingDir, memory)
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("compile a library: %w", err)
	}
	return &lasting{cmd, stdin, bufio.NewScanner(stderr), nil}, nil
}

// compile compiles what is in a directory. The process is gone unless it is alive.
func (l *lasting) compile(ctx context.Context, dir string) (alive bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = l.cmd.Process.Kill() })
	defer stop()
	if _, err := io.WriteString(l.stdin, strconv.Quote(dir)+"\n"); err == nil {
		for l.replies.Scan() { // a crash report has other lines
			text, ok := strings.CutPrefix(l.replies.Text(), replied)
			if !ok {
				continue
			}
			if text == "" {
				return true, nil
			}
			if text, err = strconv.Unquote(text); err == nil {
				err = errors.New(text)
			}
			return true, err
		}
	}
	l.end()
	return false, nil
}

func (l *lasting) end() {
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
}

// serve is the lasting process. It ends with its parent.
func serve(ctx context.Context, stdin io.Reader, stderr io.Writer) int {
	dirs := make(chan string)
	go func() {
		for lines := bufio.NewScanner(polled(stdin)); lines.Scan(); {
			dirs <- lines.Text()
		}
		os.Exit(exitFailed) // also while something is compiled
	}()
	for quoted := range dirs {
		dir, err := strconv.Unquote(quoted)
		if err == nil {
			err = pyodide.BuildLibrary(ctx, dir)
		}
		reply := ""
		if err != nil {
			reply = strconv.Quote(err.Error())
		}
		if _, err := fmt.Fprintln(stderr, replied+reply); err != nil {
			break
		}
	}
	return exitFailed
}
