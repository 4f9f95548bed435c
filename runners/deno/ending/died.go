package ending

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"coderunner/internal/lazyregexp"
	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
)

// faults are the signals by which V8 and the kernel end a faulty process. A
// confined program cannot send them, not even to itself: its only signal is
// SIGABRT, by process.abort.
var faults = []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGFPE}

// killed explains why we killed the process.
func (e *Ending) killed(o *runners.Outcome, fail fails) {
	if !e.Stopped.Explain(o, e.Limits) {
		fail(runners.Failed, "Stopped", "the program was ended (%s)", e.Stopped)
	}
}

// panicked is what Deno prints about an error of its own.
const panicked = "Deno has panicked. This is a bug in Deno."

var (
	// outOfMemory are in the messages of V8, Rust and the C libraries, in lower case. A
	// thread is "temporarily unavailable" when there is no memory for its stack.
	outOfMemory = []string{"out of memory", "memory allocation of ", "cannot allocate memory", "std::bad_alloc", "resource temporarily unavailable"}

	// unallocated are in the messages of errors thrown for lack of memory.
	unallocated = []string{"Array buffer allocation failed", "could not allocate memory", "Unable to grow instance memory", "ArrayBuffer.prototype.resize: Out of memory"}

	// lastWords matches the start of the fatal messages of V8, Rust, Deno and the
	// C libraries. Threads that run out of memory at once all print one, so the
	// first match counts.
	lastWords = lazyregexp.New(`(?m)^([#\s]*\n)?(<--- Last few GCs --->|# Fatal (process|JavaScript|error) |# Fatal error with no security impact|={10,}\nDeno has panicked\. This is a bug in Deno\.)` +
		`|^memory allocation of \d+ bytes failed|^Fatal glibc error: |^(libc\+\+abi: terminating|terminate called) .*std::bad_alloc`)
)

// noMemory sets OutOfMemory.
func (e *Ending) noMemory(fail fails) {
	if e.Workers && e.Stopped == "" && !e.Filled {
		fail(runners.OutOfMemory, "OutOfMemory", "the program had no memory for another Worker: it can have %d at a time; this limit is fixed", osprocess.MaxWorkers)
		return
	}
	fail(runners.OutOfMemory, "OutOfMemory", "%s", e.Limits.Exceeded(runners.OutOfMemory).Message)
}

// died explains a signal, and returns stderr without the runtime's fatal message.
//
// V8 ends by SIGTRAP or SIGILL after a fatal message, and a confined program
// cannot raise these signals otherwise: then the message counts. SIGABRT is
// raised by Rust and the C libraries, but also by programs: then only what the
// host saw counts.
func (e *Ending) died(stderr string, fail fails) string {
	own, words := stderr, ""
	if i := lastWords.FindStringIndex(stderr); i != nil {
		own, words = strings.TrimRight(stderr[:i[0]], "\n"), stderr[i[0]:]
	}
	genuine := slices.Contains(faults, e.Signal) && !e.Free
	switch _, size, invalid := strings.Cut(words, "# Fatal JavaScript invalid size error "); {
	case genuine && invalid:
		size, _, _ = strings.Cut(size, " ")
		fail(runners.Failed, "RangeError", "the program made an array or a string with more elements than V8 allows (%s)", size)
		return own
	case deps.HasAny(strings.ToLower(words), outOfMemory) && (genuine || e.Filled):
		e.noMemory(fail)
		return own
	}
	before, _, overflowed := strings.Cut(stderr, " has overflowed its stack")
	if i := strings.LastIndex(before, "\nthread '"); overflowed && i >= 0 && e.Signal == syscall.SIGABRT {
		fail(runners.Failed, "StackOverflow", "the program is nested too deeply for Deno to read it")
		return stderr[:i]
	}
	if genuine {
		fail(runners.Crashed, "Crash", "Deno was ended by a signal (%s)%s%s", e.Signal, e.wordless(), process.LastLines(stderr))
		return stderr
	}
	fail(runners.Failed, "Signal", "the program was ended by a signal (%s)%s", e.Signal, e.wordless())
	return stderr
}

// RuntimeFailed reports whether Deno itself may have failed, rather than the
// program.
func (e *Ending) RuntimeFailed() bool {
	if e.Stopped != "" {
		return false
	}
	words, _ := e.Stderr.Text()
	return slices.Contains(faults, e.Signal) || e.Signal == syscall.SIGABRT || e.ExitCode != 0 && strings.Contains(words, panicked)
}

// wordless returns a hint for a process that used much memory and died without
// a message.
func (e *Ending) wordless() string {
	if !e.Filled || e.Signal == syscall.SIGKILL {
		return ""
	}
	return fmt.Sprintf(", which also happens when memory runs out: it had up to %d MiB, Deno's own included, and its limit is %d MiB (CODE_RUNNER_MEMORY on the server)", e.Used.PeakMemoryBytes>>20, e.Limits.Memory>>20)
}
