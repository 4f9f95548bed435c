package host

import (
	"fmt"
	"strings"
	"syscall"

	"coderunner/internal/process"
	"coderunner/runners"
)

// stopUnlimited is why a process was killed that could not be limited.
const stopUnlimited process.Stop = "unlimited"

// ending is how a process ended, as the host saw it.
type ending struct {
	limits       runners.Limits
	stopped      process.Stop // why we killed it; "" if we did not
	unlimited    error        // why its memory could not be limited
	code         int
	signal       syscall.Signal
	filled       bool // it had at least half of its memory
	usage        runners.Usage
	stdout       *runners.Capture
	stderr       *runners.Capture
	files        []runners.LeftFile
	filesOmitted int
}

// exhausted are words of interpreters that could not allocate memory. They count
// only for a program that had much.
var exhausted = []string{"Out of memory", "out of memory", "not enough memory", "failed to allocate memory", "Allowed memory size", "unable to alloc", "unable to realloc"}

func (e *ending) outcome() *runners.Outcome {
	o := &runners.Outcome{
		Status: runners.Succeeded, ExitCode: e.code, Packages: []runners.Package{}, Usage: e.usage,
		Files: e.files, FilesOmitted: e.filesOmitted,
	}
	o.Printed(e.stdout, e.stderr)
	fail := func(s runners.Status, kind, format string, a ...any) {
		o.Status, o.Error = s, &runners.Error{Type: kind, Message: fmt.Sprintf(format, a...)}
	}
	noMemory := e.filled && e.code != 0
	for _, words := range exhausted {
		if noMemory && strings.Contains(o.Stderr, words) {
			e.stopped = process.StopMemory
		}
	}
	switch {
	case e.stopped == process.StopContext:
		return runners.CancelledOutcome()
	case e.stopped.Explain(o, e.limits):
	case e.stopped != "":
		fail(runners.Crashed, "Crash", "the program was ended because its limits could not be set: %v", e.unlimited)
	case e.signal != 0:
		fail(runners.Failed, "Signal", "the program was ended by a signal (%s)", e.signal)
	case e.code != 0:
		o.Status = runners.Failed
	}
	return o
}
