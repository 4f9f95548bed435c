package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// errWrong is an output other than the one expected.
var errWrong = errors.New("wrong output")

// command is a process that is started again and again.
type command struct {
	path string
	env  []string // all of it
}

// python returns the path of the host's Python, "" if there is none. What a version manager has
// under its name is a script, which takes three times as long to start.
var python = sync.OnceValue(func() string {
	out, _ := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out))
})

// run returns what the process printed.
func (c command) run(ctx context.Context, args ...string) (stdout string, err error) {
	stdout, _, err = c.timed(ctx, args...)
	return stdout, err
}

func (c command) timed(ctx context.Context, args ...string) (stdout string, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Env = c.env
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %.300s", err, failed.Stderr)
	}
	if err != nil {
		return "", 0, fmt.Errorf("%s %s: %w", filepath.Base(c.path), strings.Join(args, " "), err)
	}
	return string(out), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
