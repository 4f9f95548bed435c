package compiler

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"coderunner/pyodide"
)

// A lasting process compiles many small things, the parts of split libraries, of which a program
// waits for dozens: starting a process takes longer than most of them. It reads the
// directory of one in each line, and answers with a line that begins with replied. Its limits
// are those of all that it compiles: when it dies of one, the next is started.

const (
	lastingDir    = "-" // in place of a directory, in the arguments
	lastingMemory = 512 << 20
	replied       = "="
)

type lasting struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	replies *bufio.Scanner
}

// small compiles in the lasting process. What that dies of is tried once more, alone.
func (c *Compiler) small(ctx context.Context, dir string) error {
	memory := min(lastingMemory, c.memory)
	if err := c.free.Acquire(ctx, memory); err != nil {
		return context.Cause(ctx)
	}
	defer c.free.Release(memory)
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for used := true; used; {
		if used = c.last != nil; !used {
			var err error
			if c.last, err = startLasting(memory); err != nil {
				return err
			}
		}
		alive, err := c.last.compile(limited, dir)
		if alive {
			return err
		}
		if c.last = nil; ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("%w: %d MiB of memory or %v of processor time are not enough", pyodide.ErrBudget, memory>>20, maxTime)
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
	return &lasting{cmd, stdin, bufio.NewScanner(stderr)}, nil
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
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
	return false, nil
}

// serve is the lasting process. It ends with its parent.
func serve(ctx context.Context, stdin io.Reader, stderr io.Writer) int {
	dirs := make(chan string)
	go func() {
		for lines := bufio.NewScanner(stdin); lines.Scan(); {
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
