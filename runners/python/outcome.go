package python

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"coderunner/pyodide"
	"coderunner/runners"
)

// Exit codes for programs that set none.
const (
	killedCode   = 128 + 9
	overflowCode = 128 + 11 // a segmentation fault, as CPython ends elsewhere
	failedCode   = 1
)

// outcome returns the Outcome of a run. Its status is what the host saw; what
// the program's interpreter reports is in Result and Error. Packages and times
// are set by the caller.
func (j *job) outcome(ctx context.Context, res *pyodide.Result) *runners.Outcome {
	o := j.printed(runners.Succeeded, res.ExitCode)
	o.Usage.PeakMemoryBytes = res.PeakMemory
	o.Usage.CPUMS = res.CPUTime.Milliseconds()
	if res.Value != nil && res.Exception == nil && res.ExitCode == 0 {
		o.Result = runners.NewValue(res.Value.Repr, string(res.Value.JSON), j.req.Limits.Output)
	}
	if e := res.Exception; e != nil {
		o.Error = &runners.Error{Type: e.Type, Message: e.Message, Traceback: e.Traceback, Line: e.Line, Shown: e.Shown}
		j.suggestion = e.Suggestion
	}
	limits := j.req.Limits
	switch res.Ended {
	case pyodide.Finished:
		switch {
		case res.Exception != nil && res.Exception.NoMemory && res.MemoryCapHit:
			o.Status = runners.OutOfMemory
			o.Error.Message = strings.TrimPrefix(o.Error.Message+"; ", "; ") + limits.Exceeded(runners.OutOfMemory).Message
		case o.Error != nil || res.ExitCode != 0:
			o.Status = runners.Failed
			if o.Error != nil && o.Error.Type == "OSError" && strings.Contains(o.Error.Message, noSpace) {
				o.Error.Message += fmt.Sprintf(": a program's files share its limit of %d MiB of memory (CODE_RUNNER_MEMORY on the server)", limits.Memory>>20)
			}
			if o.Error != nil {
				j.explain(ctx, o, res)
			}
		}
	case pyodide.Interrupted, pyodide.Stopped:
		o.exceeded(runners.TimedOut, limits)
		if text := j.hint(o.Error, res); text != "" {
			o.Error.Message += "\n" + text
		}
	case pyodide.Flooded:
		o.exceeded(runners.OutputLimit, limits)
	case pyodide.Parked:
		o.Status = runners.Paused // whoever keeps the session knows why
	case pyodide.Cancelled:
		o.exceeded(runners.Cancelled, limits)
	default:
		j.died(o, res)
	}
	return o.Outcome
}

// noSpace is Python's message for ENOSPC.
const noSpace = "No space left on device"

// printed returns an outcome with the program's output.
func (j *job) printed(status runners.Status, code int) ending {
	o := &runners.Outcome{Status: status, ExitCode: code, Files: j.files, FilesOmitted: j.filesOmitted, Continued: j.continued}
	o.Printed(j.stdout, j.stderr)
	o.Displays, o.DisplaysOmitted = j.shown.All()
	return ending{o}
}

// end sets the error of a program that was ended. The interrupt's traceback, if
// any, shows where.
func (o ending) end(status runners.Status, kind, message string) {
	e := &runners.Error{Type: kind, Message: message}
	if o.Error != nil {
		e.Traceback, e.Line = o.Error.Traceback, o.Error.Line
	}
	o.Status, o.ExitCode, o.Result, o.Error = status, killedCode, nil, e
}

// exceeded is end for what ends programs in all languages.
func (o ending) exceeded(status runners.Status, limits runners.Limits) {
	e := limits.Exceeded(status)
	o.end(status, e.Type, e.Message)
}

// died sets the outcome of an interpreter that died.
func (j *job) died(o ending, res *pyodide.Result) {
	switch {
	case res.MemoryCapHit:
		o.exceeded(runners.OutOfMemory, j.req.Limits)
	case res.Trap == pyodide.StackOverflow:
		o.end(runners.Failed, "StackOverflow", "the program overflowed the interpreter's stack: something is nested too deeply")
		o.ExitCode = overflowCode
	case res.Ended == pyodide.Unreported:
		o.end(runners.Failed, "NoReport", "how the program ended is not known: it changed the part of its interpreter that reports it")
		o.ExitCode = failedCode
	case res.Ended == pyodide.Trapped:
		o.end(runners.Crashed, "Crash", "the program, or compiled code that it called, made the interpreter fail: "+res.Trap)
	default:
		j.r.log.Error("an interpreter died", zap.Error(res.Cause))
		first, _, _ := strings.Cut(errors.Join(res.Cause).Error(), "\n")
		o.end(runners.Crashed, "Crash", "the interpreter died: "+first)
	}
}

// timedOut returns the outcome of a program whose parsing exceeds its time limit.
func (j *job) timedOut() *runners.Outcome {
	o := j.printed(runners.TimedOut, killedCode)
	o.exceeded(runners.TimedOut, j.req.Limits)
	return o.Outcome
}

// unparsable returns the outcome of a program with a syntax error, which is not
// run.
func (j *job) unparsable(e *pyodide.Exception) *runners.Outcome {
	o := j.printed(runners.Failed, failedCode)
	o.Error = &runners.Error{Type: e.Type, Message: e.Message, Line: e.Line}
	return o.Outcome
}

// cancelled returns the outcome of a run that its caller cancelled.
func (j *job) cancelled() *runners.Outcome {
	o := j.printed(runners.Cancelled, killedCode)
	o.exceeded(runners.Cancelled, j.req.Limits)
	return o.Outcome
}

// lostOutcome returns the outcome of a parked program that cannot go on.
func (j *job) lostOutcome(why errLost) *runners.Outcome {
	o := j.printed(runners.Failed, failedCode)
	o.Error = &runners.Error{Type: "Lost", Message: fmt.Sprintf("the program waited for consent, and cannot go on: %v. The session is as before the program", why)}
	return o.Outcome
}

// notInstalled returns the outcome when packages cannot be installed.
func (j *job) notInstalled(ctx context.Context, missing *runners.NotInstalledError) *runners.Outcome {
	o := j.printed(runners.NotInstalled, failedCode)
	o.Error = missing.Outcome().Error
	j.advise(ctx, o.Error)
	return o.Outcome
}
