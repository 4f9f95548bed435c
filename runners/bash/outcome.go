package bash

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/runners"
)

// killedCode is the exit code of a script that was ended.
const killedCode = 128 + int(kernel.SIGKILL)

// outcome returns the Outcome of a run by what the host saw: the status of the
// shell, why the kernel ended all processes, and why ctx ended.
func (j *job) outcome(ctx context.Context, status kernel.Status, failure error) *runners.Outcome {
	o := &runners.Outcome{Status: runners.Succeeded, ExitCode: status.Code(), Packages: []runners.Package{}, Continued: j.continued}
	o.Printed(j.stdout, j.stderr)
	end := func(s runners.Status, e *runners.Error) { o.Status, o.ExitCode, o.Error = s, killedCode, e }
	exceeded := func(s runners.Status) { end(s, j.req.Limits.Exceeded(s)) }
	var output *memfs.OutputError
	switch {
	case errors.As(failure, &output):
		exceeded(runners.OutputLimit)
	case errors.Is(failure, kernel.ErrMemory):
		exceeded(runners.OutOfMemory)
	case failure != nil:
		line, _, _ := strings.Cut(failure.Error(), "\n")
		end(runners.Crashed, &runners.Error{Type: "Crash", Message: "the " + j.what() + " failed: " + line})
	case errors.Is(context.Cause(ctx), errTime):
		exceeded(runners.TimedOut)
	case ctx.Err() != nil:
		exceeded(runners.Cancelled)
	case status.Signal() != 0:
		o.Status, o.Error = runners.Failed, &runners.Error{Type: "Signal", Message: fmt.Sprintf("the %s was ended by signal %d", j.what(), status.Signal())}
	case o.ExitCode != 0:
		if o.Status = runners.Failed; j.shell.Syntax != "" {
			o.Error = &runners.Error{Type: "SyntaxError", Message: j.shell.Syntax, Line: j.shell.Line}
		}
	}
	if o.Status == runners.Succeeded || o.Status == runners.Failed {
		if j.main.Ended != nil {
			j.main.Ended(o, j.FS)
		}
	}
	if j.Kernel != nil {
		o.Usage.CPUMS = j.Kernel.CPU().Milliseconds()
		o.Usage.PeakMemoryBytes = j.peak
	}
	return o
}

// what returns the word for what runs.
func (j *job) what() string {
	if j.guest != nil {
		return "program"
	}
	return "shell"
}
