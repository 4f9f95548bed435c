package bash

import (
	"context"
	"errors"
	"fmt"

	"coderunner/internal/kernel"
	"coderunner/pyodide/memfs"
	"coderunner/runners"
)

// killedCode is the exit code of a script that was ended.
const killedCode = 128 + int(kernel.SIGKILL)

// outcome returns the Outcome of a run by what the host saw: the status of the
// shell, why the kernel ended all processes, and why ctx ended.
func (j *job) outcome(ctx context.Context, status kernel.Status, failure error) *runners.Outcome {
	o := &runners.Outcome{Status: runners.Succeeded, ExitCode: status.Code(), Packages: append([]runners.Package{}, j.Packages...), Continued: j.continued}
	o.Printed(j.stdout, j.stderr)
	end := func(s runners.Status, kind, format string, a ...any) {
		o.Status, o.ExitCode, o.Error = s, killedCode, &runners.Error{Type: kind, Message: fmt.Sprintf(format, a...)}
	}
	limits := j.req.Limits
	var output *memfs.OutputError
	switch {
	case errors.As(failure, &output):
		end(runners.OutputLimit, "OutputLimit", "the program printed more than %d bytes", limits.Output*runners.FloodFactor)
	case errors.Is(failure, kernel.ErrMemory):
		end(runners.OutOfMemory, "OutOfMemory", "the program needed more than its limit of %d MiB of memory", limits.Memory>>20)
	case failure != nil:
		end(runners.Crashed, "Crash", "the shell failed: %v", firstLine(failure))
	case errors.Is(context.Cause(ctx), errTime):
		end(runners.TimedOut, "Timeout", "the program ran longer than its limit of %v", limits.Timeout)
	case ctx.Err() != nil:
		end(runners.Cancelled, "Cancelled", "the run was cancelled")
	case status.Signal() != 0:
		o.Status, o.Error = runners.Failed, &runners.Error{Type: "Signal", Message: fmt.Sprintf("the shell was ended by signal %d", status.Signal())}
	case o.ExitCode != 0:
		if o.Status = runners.Failed; j.shell.Syntax != "" {
			o.Error = &runners.Error{Type: "SyntaxError", Message: j.shell.Syntax, Line: j.shell.Line}
		}
	}
	if j.Kernel != nil {
		o.Usage.CPUMS = j.Kernel.CPU().Milliseconds()
		o.Usage.PeakMemoryBytes, _ = j.FS.Usage()
	}
	return o
}

func firstLine(err error) string {
	text := err.Error()
	for i := range len(text) {
		if text[i] == '\n' {
			return text[:i]
		}
	}
	return text
}
