// Package ending finds out how a Deno process ended, and what that means for its program.
//
// The status of a run follows from what the host saw. What the process itself reported
// (report.go) and printed (stderr.go, workers.go) is untrusted and only explains it.
//
// # Sources
//
// Deno 2.9, V8 and Rust: the texts of their messages about what ended a program.
package ending

import (
	"fmt"
	"io"
	"strings"
	"syscall"

	"coderunner/internal/lazyregexp"
	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/stacktrace"
)

// Ending records how a process ended and what [Ending.Outcome] needs to explain it.
type Ending struct {
	Stopped  osprocess.Stop // why we killed it, "" if we did not
	ExitCode int            // 128 and the signal's number if a signal ended it
	Signal   syscall.Signal // 0 if none did
	Free     bool           // it was not confined, so it could send itself any signal
	Filled   bool           // we saw it use at least half of its memory
	Limits   runners.Limits
	Used     runners.Usage
	Stdout   *runners.Capture
	Stderr   *runners.Capture
	Report   Report
	Shown    string // the program's name in tracebacks
	Program  *jsparse.Program
	Stacks   *stacktrace.Map
	Workers  bool // the program may start Workers
	Threads  bool // by node:worker_threads
	Paused   bool // the process waits for the session's next program

	Files        []runners.LeftFile // that the program left
	FilesOmitted int

	held held                 // of stderr, where that is passed on
	live []*stacktrace.Writer // what is passed on
}

// Done is why a process is killed whose program is over.
const Done osprocess.Stop = "done"

// Capture has what the program prints captured, and passed on as the outcome shows it.
func (e *Ending) Capture(req runners.Request, merged bool) {
	if req.Stdout != nil {
		req.Stdout = e.placed(req.Stdout)
	}
	if req.Stderr != nil {
		e.held.w, req.Stderr = e.placed(req.Stderr), &e.held
	}
	e.Stdout, e.Stderr = req.Captures()
	if merged {
		e.Stdout = e.Stderr // where the end of a failed program is explained
	}
}

// placed returns what passes on to w what the program prints.
func (e *Ending) placed(w io.Writer) io.Writer {
	p := e.Stacks.NewWriter(w)
	e.live = append(e.live, p)
	return p
}

// Release passes on the rest of what the program has printed, as the outcome has it.
func (e *Ending) Release(o *runners.Outcome) {
	e.held.release(o.Stderr, func(text string) string { return e.Stacks.Show(e.withoutWorkers(text)) })
	for _, p := range e.live {
		p.End()
	}
}

// Conclude records how the process ended or was paused.
func (e *Ending) Conclude(p *osprocess.Process) {
	e.Stopped, e.Filled = p.Stopped(), p.Filled()
	switch {
	case e.Paused && e.Report.exit == nil:
		e.ExitCode = 1 // the report is broken
	case e.Paused:
		e.ExitCode = *e.Report.exit
	case e.Stopped == Done:
		e.Stopped, e.ExitCode = "", *e.Report.exit
	default:
		e.ExitCode, e.Signal = p.Exit()
	}
}

// ClaimsUnloaded reports whether the process says that the program could not be loaded.
func (e *Ending) ClaimsUnloaded() bool {
	t := e.Report.thrown
	return e.Stopped == "" && e.Signal == 0 && t != nil && t.escaped && t.load
}

// Outcome returns the run's Outcome, without packages and usage.
//
// The status follows from what the host saw: why it killed the process, the
// signal, the exit code, the memory. The report and stderr are untrusted: they
// only explain the status, or decide what the program could choose anyway.
func (e *Ending) Outcome() *runners.Outcome {
	o := &runners.Outcome{Status: runners.Succeeded, ExitCode: e.ExitCode, Packages: []runners.Package{}, Files: e.Files, FilesOmitted: e.FilesOmitted}
	o.Displays, o.DisplaysOmitted = e.Report.shown.All()
	o.Printed(e.Stdout, e.Stderr)
	o.Stderr = e.withoutWorkers(o.Stderr)
	if v := e.Report.result; v != nil && v.text != "" && !e.exitsUnsettled() {
		text := v.text
		if v.isError {
			text, _ = e.Stacks.Trace(deps.Shorten(text, maxTrace))
		} else {
			text = e.Stacks.Show(text)
		}
		o.Result = runners.NewValue(text, e.Stacks.Show(v.json), e.Limits.Output)
	}
	fail := func(s runners.Status, kind, format string, a ...any) {
		o.Status, o.Error = s, &runners.Error{Type: kind, Message: fmt.Sprintf(format, a...)}
	}
	switch {
	case e.Stopped != "":
		e.killed(o, fail)
	case e.Signal != 0:
		o.Stderr = e.died(o.Stderr, fail)
	case e.Report.broken != nil:
		fail(runners.Failed, "BrokenReport", "the runner's own report of how the program ended was overwritten by the program: %v", e.Report.broken)
	case e.ExitCode != 0:
		o.Status = runners.Failed
		o.Stderr = e.failed(o, fail)
	}
	switch {
	case o.Status == runners.TimedOut:
		o.Error.Message += e.overtime()
	case o.Status == runners.Succeeded && e.Report.lonely && e.Paused:
		o.Note = "Its server is open for later programs of the session, and for nobody else."
	case o.Status == runners.Succeeded && e.Report.lonely:
		o.Note = "Its server ended with the program. " + OnlyItself
	case o.Status == runners.Succeeded && e.Report.asks:
		o.Note = "It ended at a question for which stdin has no line: the argument stdin is what it reads."
	case o.Status == runners.Succeeded && e.Report.silent && !e.has(nullable):
		o.Note = "prompt() returned null, as stdin has no line: the argument stdin is what it reads."
	}
	if o.Status != runners.Succeeded {
		o.Result = nil
	}
	for _, text := range []*string{&o.Stdout, &o.Stderr, &o.WholeStdout, &o.WholeStderr} {
		*text = e.Stacks.Show(*text)
	}
	return o
}

// OnlyItself is the note about a server that nothing calls.
const OnlyItself = `Only the program itself reaches its servers: call them in it, as with fetch("http://127.0.0.1:PORT/").`

// nullable are what a program may have for a prompt() that returns null, and exits the calls by
// which it ends itself.
var (
	nullable = []string{"null", "??", "||", "?.", "if (!"}
	exits    = []string{"process.exit(", "Deno.exit("}
)

// has reports whether the program's text has one of some parts.
func (e *Ending) has(parts []string) bool { return deps.HasAny(e.Program.Source, parts) }

// exitsUnsettled reports whether the program's value is a promise that has not settled
// in a program that ends itself, as main() does whose last line is process.exit(0), or
// that asks a question without an answer.
// Such a promise says nothing.
func (e *Ending) exitsUnsettled() bool {
	return e.Report.result.text == "Promise { <pending> }" && (e.Report.asks || e.has(exits))
}

// fails sets an outcome's status and error.
type fails func(s runners.Status, kind, format string, a ...any)

// uncaught matches the start of Deno's message about the error that ended a program.
// That nothing more happens often comes after a question, on the same line. A Worker's
// is another matter. What a listener throws while the program's module is evaluated ends
// that, before Deno prints what it was.
var uncaught = lazyregexp.New(`(?m)^error: (Uncaught ([^(\n]|\((in )?[^iw\n]|$)|Unhandled error in child worker|Cannot evaluate dynamically imported module, because JavaScript execution has been terminated$)|error: Top-level await promise never resolved$`)

// failed explains an exit code, and returns stderr without Deno's message about
// an error that is in the outcome.
func (e *Ending) failed(o *runners.Outcome, fail fails) string {
	own, words := o.Stderr, ""
	if all := uncaught.FindAllStringIndex(o.Stderr, -1); all != nil {
		i := all[len(all)-1][0]
		own, words = o.Stderr[:i], o.Stderr[i:]
	}
	switch t := e.Report.thrown; {
	case t != nil && (t.escaped || words != ""):
		switch head, frames := e.workerError(); {
		case head == "":
		case t.message == childFailed:
			t, own = uncaughtError(head, frames), workerFailed.ReplaceAllString(own, "")
		case t.stack == head || strings.HasPrefix(t.stack, head+"\n") && !strings.Contains(t.stack, e.Stacks.Work):
			t.stack = head + frames + t.stack[len(head):] // as Deno passes it on, it has none
		}
		o.Error = e.explain(t)
		if deps.HasAny(t.message, unallocated) || t.code == "Z_MEM_ERROR" {
			if e.Filled {
				o.Status = runners.OutOfMemory
			}
			o.Error.Message += fmt.Sprintf("; the limit of memory is %d MiB (CODE_RUNNER_MEMORY on the server)", e.Limits.Memory>>20)
		}
	case words != "":
		// Nothing was thrown in the program's realm.
		head, rest, _ := strings.Cut(strings.TrimPrefix(words, "error: "), "\n")
		rest = excerpts.ReplaceAllString(rest, "")
		if head == unresolved {
			rest = "" // the place is in the bootstrap
		}
		o.Error = e.explain(uncaughtError(strings.TrimPrefix(strings.TrimPrefix(head, "Uncaught "), "(in promise) "), "\n"+rest))
	case strings.Contains(o.Stderr, panicked):
		// A program can print that, too; Deno has no separate exit code for it.
		if i := lastWords.FindStringIndex(o.Stderr); i != nil && e.Filled && deps.HasAny(strings.ToLower(o.Stderr[i[0]:]), outOfMemory) {
			e.noMemory(fail)
			return strings.TrimRight(o.Stderr[:i[0]], "\n")
		}
		fail(runners.Failed, "Panic", "Deno panicked, or the program printed that it did%s", process.LastLines(o.Stderr))
		return o.Stderr
	default:
		return o.Stderr // an ordinary exit
	}
	return own
}

// excerpts matches the lines that Deno quotes, which are as it reads them.
var excerpts = lazyregexp.New(`(?m)^.*\n *\^$\n?`)

// uncaughtError returns what was thrown, of Deno's words about it.
func uncaughtError(head, frames string) *thrown {
	t := &thrown{kind: "Error", message: head}
	if kind, message, ok := strings.Cut(head, ": "); ok && !strings.Contains(kind, " ") {
		t.kind, t.message = kind, message
	}
	t.stack = t.kind + ": " + t.message + frames
	return t
}
