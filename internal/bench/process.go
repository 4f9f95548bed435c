package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	maxOutput = 1 << 20 // bytes kept of a program's output
	maxLine   = 1 << 20 // bytes of an answer
	endGrace  = 2 * time.Second
)

// errWrong is an output other than the one expected.
var errWrong = errors.New("wrong output")

// command is a process that is started again and again.
type command struct {
	path string
	args []string
	env  []string // all of it
	dir  string
}

// with returns the command with more arguments.
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

// ran is a process that has ended.
type ran struct {
	stdout    string
	wall, cpu time.Duration
}

func (c command) run(ctx context.Context) (ran, error) {
	var out, log bounded
	cmd := c.start(ctx)
	cmd.Stdout, cmd.Stderr = &out, &log
	began := time.Now()
	err := cmd.Run()
	r := ran{stdout: out.String(), wall: time.Since(began)}
	if err != nil {
		return r, fmt.Errorf("%s %s: %w%s", filepath.Base(c.path), strings.Join(c.args, " "), err, lastLine(log.String()))
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return r, nil
}

// processes measures a command from its start to its end, or by what read
// finds in its output if that is not nil.
func processes(c command, read func(stdout string) (float64, error), want string) *opened {
	var cpu time.Duration
	return &opened{
		cpu: func() time.Duration { return cpu },
		sample: func(ctx context.Context) (float64, error) {
			r, err := c.run(ctx)
			cpu += r.cpu
			switch {
			case err != nil:
				return 0, err
			case read != nil:
				return read(r.stdout)
			case r.stdout != want:
				return 0, fmt.Errorf("%w: %.80q, want %.80q", errWrong, r.stdout, want)
			}
			return ms(r.wall), nil
		},
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// bounded keeps the first maxOutput bytes.
type bounded struct{ buf bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.buf.Write(p[:min(len(p), maxOutput-b.buf.Len())])
	return len(p), nil
}

func (b *bounded) String() string { return b.buf.String() }

// lastLine returns what of a log belongs into an error.
func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	return ": " + strings.ToValidUTF8(last[:min(len(last), 200)], "?")
}

// talk is a process that reads and writes lines.
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
	in, err := t.cmd.StdinPipe()
	if err == nil {
		var out io.Reader
		if out, err = t.cmd.StdoutPipe(); err == nil {
			t.in, t.out = in, bufio.NewScanner(out)
			t.out.Buffer(nil, maxLine)
			err = t.cmd.Start()
		}
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", filepath.Base(c.path), err)
	}
	return t, nil
}

// ask sends a line and returns the next one that comes. When ctx ends, the
// process does, too.
func (t *talk) ask(ctx context.Context, line []byte) ([]byte, error) {
	defer context.AfterFunc(ctx, t.stop)()
	_, err := t.in.Write(append(line, '\n'))
	if err == nil && t.out.Scan() {
		return t.out.Bytes(), nil
	}
	err = errors.Join(err, t.out.Err())
	t.close() // only then is its log complete
	if err == nil {
		err = io.EOF
	}
	return nil, fmt.Errorf("%s has ended: %w%s", filepath.Base(t.cmd.Path), err, lastLine(t.log.String()))
}

// close ends the process: by the end of its input, or else by a signal.
func (t *talk) close() {
	_ = t.in.Close()
	timer := time.AfterFunc(endGrace, t.stop)
	defer timer.Stop()
	_ = t.cmd.Wait() // a process that was told to end may do so with any code
	t.stop()
}

// cpu returns the time that the process and its children that have ended took
// of the processors, or 0 where /proc does not tell.
func (t *talk) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// What follows the name begins with field 3; the times are 14 to 17.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var ticks int64
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// privateBytes returns the memory of the process and its children that is
// shared with nobody and backed by no file.
func (t *talk) privateBytes() (int64, error) {
	var sum int64
	var add func(pid string) error
	add = func(pid string) error {
		rollup, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(rollup)) {
			if rest, ok := strings.CutPrefix(line, "Private_Dirty:"); ok {
				var kib int64
				if _, err := fmt.Sscan(rest, &kib); err != nil {
					return err
				}
				sum += kib << 10
			}
		}
		lists, err := filepath.Glob("/proc/" + pid + "/task/*/children")
		for _, list := range lists {
			children, _ := os.ReadFile(list) // a thread may end meanwhile
			for _, child := range strings.Fields(string(children)) {
				_ = add(child) // and so may a child
			}
		}
		return err
	}
	err := add(strconv.Itoa(t.cmd.Process.Pid))
	return sum, err
}
