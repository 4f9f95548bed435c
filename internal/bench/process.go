package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	maxOutput = 1 << 20 // of a program, in bytes; the rest is dropped
	maxAnswer = 1 << 20 // one line from a process that is talked to, in bytes
	endGrace  = 2 * time.Second
)

// command is a process as it is started again and again.
type command struct {
	path string
	args []string
	env  []string // all of it
	dir  string
}

func (c command) name() string { return filepath.Base(c.path) }

// with gives the same command with more arguments.
func (c command) with(args ...string) command {
	c.args = append(append([]string{}, c.args...), args...)
	return c
}

func (c command) start(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Env, cmd.Dir = c.env, c.dir
	cmd.WaitDelay = endGrace
	return cmd
}

// run measures one process from its start to its end.
func (c command) run(ctx context.Context) (stdout string, s sample, err error) {
	var out, log bounded
	cmd := c.start(ctx)
	cmd.Stdout, cmd.Stderr = &out, &log
	began := time.Now()
	err = cmd.Run()
	s.Wall = time.Since(began)
	if err != nil {
		return "", s, fmt.Errorf("%s: %w%s", c.name(), err, lastLine(log.String()))
	}
	s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return out.String(), s, nil
}

// bounded keeps the first maxOutput bytes.
type bounded struct{ buf bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.buf.Write(p[:min(len(p), maxOutput-b.buf.Len())])
	return len(p), nil
}

func (b *bounded) String() string { return b.buf.String() }

// lastLine is what of a log goes into an error.
func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	if len(last) > 200 {
		last = last[:200] + "…"
	}
	return ": " + strings.ToValidUTF8(last, "?")
}

// talk is a process that answers lines with lines.
type talk struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	log  bounded
	stop context.CancelFunc
}

// talk starts the process. The caller closes it.
func (c command) talk() (*talk, error) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &talk{stop: cancel, cmd: c.start(ctx)}
	t.cmd.Stderr = &t.log
	var err error
	if t.in, err = t.cmd.StdinPipe(); err == nil {
		var out io.Reader
		if out, err = t.cmd.StdoutPipe(); err == nil {
			t.out = bufio.NewScanner(out)
			t.out.Buffer(nil, maxAnswer)
			err = t.cmd.Start()
		}
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", c.name(), err)
	}
	return t, nil
}

// ask sends a value as one line and decodes lines until want says that it has
// the answer. When ctx ends the process does, too.
func (t *talk) ask(ctx context.Context, question any, want func(line []byte) (bool, error)) error {
	line, err := json.Marshal(question)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, t.stop)()
	if _, err := t.in.Write(append(line, '\n')); err != nil {
		return t.gone(err)
	}
	for want != nil {
		if !t.out.Scan() {
			return t.gone(t.out.Err())
		}
		if done, err := want(t.out.Bytes()); done || err != nil {
			return err
		}
	}
	return nil
}

// gone explains that the process no longer talks, and ends it: only then is
// its log complete.
func (t *talk) gone(err error) error {
	if err == nil {
		err = io.EOF
	}
	t.close()
	return fmt.Errorf("%s has ended: %w%s", filepath.Base(t.cmd.Path), err, lastLine(t.log.String()))
}

// close ends the process: by the end of its input, or else by a signal.
func (t *talk) close() {
	_ = t.in.Close()
	timer := time.AfterFunc(endGrace, t.stop)
	defer timer.Stop()
	// A process that was told to end may do so with any code.
	if err := t.cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
		_ = t.cmd.Process.Kill()
	}
	t.stop()
}
