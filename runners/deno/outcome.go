package deno

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"coderunner/internal/netpolicy"
	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/stacktrace"
)

// ending records how a process ended and what outcome needs to explain it.
type ending struct {
	stopped  osprocess.Stop // why we killed it, "" if we did not
	exitCode int            // 128 and the signal's number if a signal ended it
	signal   syscall.Signal // 0 if none did
	free     bool           // it was not confined, so it could send itself any signal
	filled   bool           // we saw it use at least half of its memory
	limits   runners.Limits
	used     runners.Usage
	stdout   *runners.Capture
	stderr   *runners.Capture
	held     held // of stderr, where that is passed on
	report   report
	shown    string               // the program's name in tracebacks
	live     []*stacktrace.Writer // what is passed on
	program  *jsparse.Program
	stacks   *stacktrace.Map
	workers  bool // the program may start Workers
	threads  bool // by node:worker_threads
	paused   bool // the process waits for the session's next program

	files        []runners.LeftFile // that the program left
	filesOmitted int
}

// stopDone is why a process is killed whose program is over.
const stopDone osprocess.Stop = "done"

// faults are the signals by which V8 and the kernel end a faulty process. A
// confined program cannot send them, not even to itself: its only signal is
// SIGABRT, by process.abort.
var faults = []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGFPE}

// outcome returns the run's Outcome, without packages and usage.
//
// The status follows from what the host saw: why it killed the process, the
// signal, the exit code, the memory. The report and stderr are untrusted: they
// only explain the status, or decide what the program could choose anyway.
func (e *ending) outcome() *runners.Outcome {
	o := &runners.Outcome{Status: runners.Succeeded, ExitCode: e.exitCode, Packages: []runners.Package{}, Files: e.files, FilesOmitted: e.filesOmitted}
	o.Displays, o.DisplaysOmitted = e.report.shown.All()
	o.Printed(e.stdout, e.stderr)
	o.Stderr = e.withoutWorkers(o.Stderr)
	if v := e.report.result; v != nil && v.text != "" && !e.exitsUnsettled() {
		text := v.text
		if v.isError {
			text, _ = e.stacks.Trace(deps.Shorten(text, maxTrace))
		} else {
			text = e.stacks.Show(text)
		}
		o.Result = runners.NewValue(text, e.stacks.Show(v.json), e.limits.Output)
	}
	fail := func(s runners.Status, kind, format string, a ...any) {
		o.Status, o.Error = s, &runners.Error{Type: kind, Message: fmt.Sprintf(format, a...)}
	}
	switch {
	case e.stopped != "":
		e.killed(o, fail)
	case e.signal != 0:
		o.Stderr = e.died(o.Stderr, fail)
	case e.report.broken != nil:
		fail(runners.Failed, "BrokenReport", "the runner's own report of how the program ended was overwritten by the program: %v", e.report.broken)
	case e.exitCode != 0:
		o.Status = runners.Failed
		o.Stderr = e.failed(o, fail)
	}
	switch {
	case o.Status == runners.TimedOut:
		o.Error.Message += e.overtime()
	case o.Status == runners.Succeeded && e.report.lonely && e.paused:
		o.Note = "Its server is open for later programs of the session, and for nobody else."
	case o.Status == runners.Succeeded && e.report.lonely:
		o.Note = "Its server ended with the program. " + onlyItself
	case o.Status == runners.Succeeded && e.report.asks:
		o.Note = "It ended at a question for which stdin has no line: the argument stdin is what it reads."
	case o.Status == runners.Succeeded && e.report.silent && !nullable.MatchString(e.program.Source):
		o.Note = "prompt() returned null, as stdin has no line: the argument stdin is what it reads."
	}
	if o.Status != runners.Succeeded {
		o.Result = nil
	}
	for _, text := range []*string{&o.Stdout, &o.Stderr, &o.WholeStdout, &o.WholeStderr} {
		*text = e.stacks.Show(*text)
	}
	return o
}

// onlyItself is the note about a server that nothing calls.
const onlyItself = `Only the program itself reaches its servers: call them in it, as with fetch("http://127.0.0.1:PORT/").`

// nullable matches what a program has for a prompt() that returns null.
var nullable = regexp.MustCompile(`\bnull\b|\?\?|\|\||\?\.|if \(!`)

// exits matches a call by which a program ends itself.
var exits = regexp.MustCompile(`\b(process|Deno)\.exit\(`)

// exitsUnsettled reports whether the program's value is a promise that has not settled
// in a program that ends itself, as main() does whose last line is process.exit(0), or
// that asks a question without an answer.
// Such a promise says nothing.
func (e *ending) exitsUnsettled() bool {
	return e.report.result.text == "Promise { <pending> }" && (e.report.asks || exits.MatchString(e.program.Source))
}

// fails sets an outcome's status and error.
type fails func(s runners.Status, kind, format string, a ...any)

// killed explains why we killed the process.
func (e *ending) killed(o *runners.Outcome, fail fails) {
	if !e.stopped.Explain(o, e.limits) {
		fail(runners.Failed, "Stopped", "the program was ended (%s)", e.stopped)
	}
}

// panicked is what Deno prints about an error of its own.
const panicked = "Deno has panicked. This is a bug in Deno."

var (
	// outOfMemory matches the messages of V8, Rust and the C libraries. A thread
	// is "temporarily unavailable" when there is no memory for its stack.
	outOfMemory = regexp.MustCompile(`(?i)out of memory|memory allocation of \d+ bytes failed|cannot allocate memory|std::bad_alloc|resource temporarily unavailable`)

	// invalidSize matches V8's message for an array or string past its limit.
	invalidSize = regexp.MustCompile(`# Fatal JavaScript invalid size error (\d+)`)

	// overflowed matches Rust's message for a native stack overflow.
	overflowed = regexp.MustCompile(`(?m)\nthread '[^'\n]*' (\(\d+\) )?has overflowed its stack`)

	// lastWords matches the start of the fatal messages of V8, Rust, Deno and the
	// C libraries. Threads that run out of memory at once all print one, so the
	// first match counts.
	lastWords = regexp.MustCompile(`(?m)^([#\s]*\n)?(<--- Last few GCs --->|# Fatal (process|JavaScript|error) |# Fatal error with no security impact|={10,}\n` + regexp.QuoteMeta(panicked) + `)` +
		`|^memory allocation of \d+ bytes failed|^Fatal glibc error: |^(libc\+\+abi: terminating|terminate called) .*std::bad_alloc`)
)

// noMemory sets OutOfMemory.
func (e *ending) noMemory(fail fails) {
	if e.workers && e.stopped == "" && !e.filled {
		fail(runners.OutOfMemory, "OutOfMemory", "the program had no memory for another Worker: it can have %d at a time; this limit is fixed", osprocess.MaxWorkers)
		return
	}
	fail(runners.OutOfMemory, "OutOfMemory", "%s", e.limits.Exceeded(runners.OutOfMemory).Message)
}

// died explains a signal, and returns stderr without the runtime's fatal message.
//
// V8 ends by SIGTRAP or SIGILL after a fatal message, and a confined program
// cannot raise these signals otherwise: then the message counts. SIGABRT is
// raised by Rust and the C libraries, but also by programs: then only what the
// host saw counts.
func (e *ending) died(stderr string, fail fails) string {
	own, words := stderr, ""
	if i := lastWords.FindStringIndex(stderr); i != nil {
		own, words = strings.TrimRight(stderr[:i[0]], "\n"), stderr[i[0]:]
	}
	genuine := slices.Contains(faults, e.signal) && !e.free
	switch size := invalidSize.FindStringSubmatch(words); {
	case genuine && size != nil:
		fail(runners.Failed, "RangeError", "the program made an array or a string with more elements than V8 allows (%s)", size[1])
		return own
	case outOfMemory.MatchString(words) && (genuine || e.filled):
		e.noMemory(fail)
		return own
	}
	if i := overflowed.FindStringIndex(stderr); i != nil && e.signal == syscall.SIGABRT {
		fail(runners.Failed, "StackOverflow", "the program is nested too deeply for Deno to read it")
		return stderr[:i[0]]
	}
	if genuine {
		fail(runners.Crashed, "Crash", "Deno was ended by a signal (%s)%s%s", e.signal, e.wordless(), process.LastLines(stderr))
		return stderr
	}
	fail(runners.Failed, "Signal", "the program was ended by a signal (%s)%s", e.signal, e.wordless())
	return stderr
}

// runtimeFailed reports whether Deno itself may have failed, rather than the
// program.
func (e *ending) runtimeFailed() bool {
	if e.stopped != "" {
		return false
	}
	words, _ := e.stderr.Text()
	return slices.Contains(faults, e.signal) || e.signal == syscall.SIGABRT || e.exitCode != 0 && strings.Contains(words, panicked)
}

// wordless returns a hint for a process that used much memory and died without
// a message.
func (e *ending) wordless() string {
	if !e.filled || e.signal == syscall.SIGKILL {
		return ""
	}
	return fmt.Sprintf(", which also happens when memory runs out: it had up to %d MiB, Deno's own included, and its limit is %d MiB (CODE_RUNNER_MEMORY on the server)", e.used.PeakMemoryBytes>>20, e.limits.Memory>>20)
}

// uncaught matches the start of Deno's message about the error that ended a program.
// That nothing more happens often comes after a question, on the same line. A Worker's
// is another matter. What a listener throws while the program's module is evaluated ends
// that, before Deno prints what it was.
var uncaught = regexp.MustCompile(`(?m)^error: (Uncaught ([^(\n]|\((in )?[^iw\n]|$)|Unhandled error in child worker|Cannot evaluate dynamically imported module, because JavaScript execution has been terminated$)|error: Top-level await promise never resolved$`)

// unallocated matches the messages of errors thrown for lack of memory.
var unallocated = regexp.MustCompile(`Array buffer allocation failed|could not allocate memory|Unable to grow instance memory|ArrayBuffer\.prototype\.resize: Out of memory`)

// failed explains an exit code, and returns stderr without Deno's message about
// an error that is in the outcome.
func (e *ending) failed(o *runners.Outcome, fail fails) string {
	own, words := o.Stderr, ""
	if all := uncaught.FindAllStringIndex(o.Stderr, -1); all != nil {
		i := all[len(all)-1][0]
		own, words = o.Stderr[:i], o.Stderr[i:]
	}
	switch t := e.report.thrown; {
	case t != nil && (t.escaped || words != ""):
		switch head, frames := e.workerError(); {
		case head == "":
		case t.message == childFailed:
			t, own = uncaughtError(head, frames), workerFailed.ReplaceAllString(own, "")
		case t.stack == head || strings.HasPrefix(t.stack, head+"\n") && !strings.Contains(t.stack, e.stacks.Work):
			t.stack = head + frames + t.stack[len(head):] // as Deno passes it on, it has none
		}
		o.Error = e.explain(t)
		if unallocated.MatchString(t.message) || t.code == "Z_MEM_ERROR" {
			if e.filled {
				o.Status = runners.OutOfMemory
			}
			o.Error.Message += fmt.Sprintf("; the limit of memory is %d MiB (CODE_RUNNER_MEMORY on the server)", e.limits.Memory>>20)
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
		if i := lastWords.FindStringIndex(o.Stderr); i != nil && e.filled && outOfMemory.MatchString(o.Stderr[i[0]:]) {
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
var excerpts = regexp.MustCompile(`(?m)^.*\n *\^$\n?`)

// uncaughtError returns what was thrown, of Deno's words about it.
func uncaughtError(head, frames string) *thrown {
	t := &thrown{kind: "Error", message: head}
	if kind, message, ok := strings.Cut(head, ": "); ok && !strings.Contains(kind, " ") {
		t.kind, t.message = kind, message
	}
	t.stack = t.kind + ": " + t.message + frames
	return t
}

// netRefused matches Deno's refusal of a connection, of which the guard sees nothing.
var netRefused = regexp.MustCompile(`\bRequires net access to "([^"]+)"`)

// reached adds what the program contacted, and what Deno refused by itself as far as
// its message or the report shows it: the policy says whether it is true. A program
// without a network has said it itself where it prints the flag.
func (r *Runner) reached(o *runners.Outcome, n *netpolicy.Run, refused []string) {
	texts := []string{"", o.Stdout, o.Stderr}
	if o.Error != nil {
		texts[0] = o.Error.Message
	}
	all := strings.Join(texts, "\n")
	if n != nil {
		for _, m := range netRefused.FindAllStringSubmatch(all, -1) {
			refused = append(refused, m[1])
		}
	} else {
		refused = slices.DeleteFunc(refused, func(to string) bool { return strings.Contains(all, "--allow-net="+to) })
		if len(refused) > 0 {
			n = r.Config.Policy.Network().NewRun(r.Config.Network)
		}
	}
	slices.Sort(refused)
	for _, to := range slices.Compact(refused) {
		n.Avoided(to)
	}
	o.Reached(n)
}
