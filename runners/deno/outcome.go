package deno

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
)

// record is one line of the bootstrap's report. The program could write such
// lines only with the permission to write everywhere; they then say something
// wrong about that program and nothing else.
type record struct {
	Kind    string `json:"kind"` // "result", "error", "thrown", "done" or "exit"
	Text    string `json:"text"`
	JSON    string `json:"json"`
	Type    string `json:"type"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
	Code    string `json:"code"`
	Load    bool   `json:"load"`   // the program could not be loaded, nothing of it ran
	Trace   bool   `json:"trace"`  // Text is that of an error
	Memory  int64  `json:"memory"` // bytes
	Exit    int    `json:"exit"`   // the exit code
}

// report is what the bootstrap said.
type report struct {
	result *record
	thrown *record // by an uncaught error; the last one
	done   *record // the program's own code came to its end
	exit   *record // and nothing more will happen
}

// maxReport bounds what is read of a report, in bytes.
const maxReport = 16 << 20

// readReport reads a report as far as it is well-formed: a process that was
// killed may have left half a line. It reads to the end of r, so that nobody
// waits for a full pipe. Over is called, once, when the program says that it is
// over.
func readReport(r io.Reader, over func()) report {
	var rep report
	defer func() { _, _ = io.Copy(io.Discard, r) }()
	lines := bufio.NewReader(io.LimitReader(r, maxReport))
	for {
		line, err := lines.ReadBytes('\n')
		var rec record
		if err != nil || json.Unmarshal(line, &rec) != nil {
			return rep
		}
		switch rec.Kind {
		case "result":
			rep.result = &rec
		case "error", "thrown":
			rep.thrown = &rec
		case "done":
			rep.done = &rec
		case "exit":
			rep.exit = &rec
			over()
			return rep
		}
	}
}

// readReportFile reads a report where it is no pipe.
func readReportFile(name string) report {
	f, err := os.Open(name)
	if err != nil {
		return report{} // it did not come so far
	}
	defer f.Close()
	return readReport(f, func() {})
}

// ending is how a process ended.
type ending struct {
	stopped  process.Stop   // why we killed it, "" if we did not
	exitCode int            // 128 and the signal's number if a signal ended it
	signal   syscall.Signal // 0 if none did
	limits   runners.Limits
	peak     int64 // the most memory it had, in bytes, 0 if unknown
	stdout   *runners.Capture
	stderr   *runners.Capture
	report   report
	main     string // the program's name in the working folder
	shown    string // and as tracebacks show it
	work     string // the working folder
	program  *jsparse.Program
	workers  bool // the program mentions them
}

// The reasons to kill a process, besides those of package process.
const (
	stopTime process.Stop = "time"
	stopDone process.Stop = "done" // it was over and did not need to tidy up
)

// faults are the signals by which a process ends that has gone wrong. Nobody
// but the program itself sends it others.
var faults = []syscall.Signal{syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGFPE}

// outcome says how the run went. Packages and usage are left to the caller.
func (e *ending) outcome() *runners.Outcome {
	o := &runners.Outcome{Status: runners.Succeeded, ExitCode: e.exitCode, Packages: []runners.Package{}}
	o.Stdout, o.StdoutTruncated = e.stdout.Text()
	o.Stderr, o.StderrTruncated = e.stderr.Text()
	if rec := e.report.result; rec != nil && rec.Text != "" {
		text := rec.Text
		if rec.Trace {
			text, _ = e.traceback(text)
		}
		o.Result = runners.NewValue(text, rec.JSON, e.limits.Output)
	}
	fail := func(s runners.Status, kind, format string, a ...any) {
		o.Status, o.Error = s, &runners.Error{Type: kind, Message: fmt.Sprintf(format, a...)}
	}
	switch {
	case e.stopped == stopTime:
		fail(runners.TimedOut, "Timeout", "the program ran longer than its limit of %v", e.limits.Timeout)
	case e.stopped == process.StopOutput:
		fail(runners.OutputLimit, "OutputLimit", "the program printed more than %d bytes", e.limits.Output*runners.FloodFactor)
	case e.stopped == process.StopDisk:
		fail(runners.OutputLimit, "DiskLimit", "the program wrote more than %d MiB or %d files into its working folder; these limits are fixed", process.MaxDiskBytes>>20, process.MaxDiskFiles)
	case e.stopped == process.StopThreads:
		fail(runners.Failed, "ThreadLimit", "the program had more than %d threads; this limit is fixed", process.MaxThreads)
	case e.stopped == process.StopMemory:
		fail(runners.OutOfMemory, "OutOfMemory", "the program needed more than its limit of %d MiB of memory%s", e.limits.Memory>>20, e.memoryHint())
	case e.stopped == process.StopContext:
		fail(runners.Cancelled, "Cancelled", "the run was cancelled")
	case e.signal != 0:
		o.Stderr = e.died(o, fail)
	case e.exitCode != 0 && e.report.done == nil && e.report.thrown == nil && strings.Contains(o.Stderr, panicked):
		if words := o.Stderr; !e.noMemory(o, fail) {
			fail(runners.Crashed, "Crash", "Deno panicked%s", lastLines(words))
		}
	case e.exitCode != 0:
		o.Status = runners.Failed
		o.Stderr = e.failed(o)
	}
	return o
}

// panicked is what Deno says of an error of its own.
const panicked = "Deno has panicked. This is a bug in Deno."

// outOfMemory is how V8, Rust and the C libraries say it. A thread that cannot
// be had, "temporarily", is one for whose stack there is no memory.
var outOfMemory = regexp.MustCompile(`(?i)out of memory|memory allocation of \d+ bytes failed|cannot allocate memory|std::bad_alloc|resource temporarily unavailable`)

// lastWords begins what V8, Rust, Deno and the C libraries say when they give
// up. Threads that run out of memory together say it together, so the first
// place counts.
var lastWords = regexp.MustCompile(`(?m)^([#\s]*\n)?(<--- Last few GCs --->|# Fatal (process|JavaScript|error) |={10,}\n` + regexp.QuoteMeta(panicked) + `)` +
	`|^memory allocation of \d+ bytes failed|^Fatal glibc error: |^(libc\+\+abi: terminating|terminate called) .*std::bad_alloc`)

// fails sets an outcome's status and error.
type fails func(s runners.Status, kind, format string, a ...any)

// noMemory reports whether the runtime's last words are that there is no
// memory. It then takes them out of the outcome and explains them.
func (e *ending) noMemory(o *runners.Outcome, fail fails) bool {
	i := lastWords.FindStringIndex(o.Stderr)
	if i == nil || !outOfMemory.MatchString(o.Stderr[i[0]:]) {
		return false
	}
	o.Stderr = strings.TrimRight(o.Stderr[:i[0]], "\n")
	fail(runners.OutOfMemory, "OutOfMemory", "the program needed more than its limit of %d MiB of memory%s", e.limits.Memory>>20, e.memoryHint())
	return true
}

// died explains a signal, and returns stderr without the runtime's last
// words.
func (e *ending) died(o *runners.Outcome, fail fails) string {
	if e.noMemory(o, fail) {
		return o.Stderr
	}
	words := o.Stderr
	if i := strings.Index(words, "\nthread '"); i >= 0 && strings.Contains(words[i:], "has overflowed its stack") {
		fail(runners.Failed, "StackOverflow", "the program is nested too deeply for Deno to read it")
		return words[:i]
	}
	if !slices.Contains(faults, e.signal) || e.signal == syscall.SIGABRT && strings.TrimSpace(words) == "" {
		// process.abort(), process.kill(process.pid); or there is no memory.
		fail(runners.Failed, "Signal", "the program was ended by a signal (%s)%s", e.signal, e.wordless())
		return words
	}
	fail(runners.Crashed, "Crash", "Deno was ended by a signal (%s)%s%s", e.signal, e.wordless(), lastLines(words))
	return words
}

// wordless says what a process that has had much memory may have died of
// without a word.
func (e *ending) wordless() string {
	if !slices.Contains(faults, e.signal) || e.peak == 0 || e.peak < e.limits.Memory/2 {
		return ""
	}
	return fmt.Sprintf(", which also happens when memory runs out: it had up to %d MiB, Deno's own included, and its limit is %d MiB (CODE_RUNNER_MEMORY on the server)", e.peak>>20, e.limits.Memory>>20)
}

// memoryHint says what a program with workers cannot know: Deno sets so much
// memory aside for each that most limits allow none.
func (e *ending) memoryHint() string {
	if !e.workers {
		return ""
	}
	return ": a Worker needs about 550 MiB of its own, so do without, or raise CODE_RUNNER_MEMORY on the server"
}

// lastLines quotes the end of what a process said.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-5):]
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return ": " + deps.Clip(strings.Join(lines, " | "), 600)
}

// uncaught begins what Deno prints about the error that ended a program.
var uncaught = regexp.MustCompile(`(?m)^error: (Uncaught|Top-level await promise never resolved|Unhandled error in child worker)`)

// unallocated is what errors say that a program gets for want of memory.
var unallocated = regexp.MustCompile(`Array buffer allocation failed|could not allocate memory|Unable to grow instance memory|ArrayBuffer\.prototype\.resize: Out of memory`)

// failed explains an exit code, and returns stderr without Deno's account of
// an error that the outcome has.
func (e *ending) failed(o *runners.Outcome) string {
	own, words := o.Stderr, ""
	if all := uncaught.FindAllStringIndex(o.Stderr, -1); all != nil {
		i := all[len(all)-1][0]
		own, words = o.Stderr[:i], o.Stderr[i:]
	}
	switch rec := e.report.thrown; {
	case rec != nil && (rec.Kind == "thrown" || words != ""):
		o.Error = e.explain(rec)
		if unallocated.MatchString(rec.Message) || rec.Code == "Z_MEM_ERROR" {
			o.Status = runners.OutOfMemory
		}
	case words != "":
		// Nothing was thrown in the program's realm.
		head, rest, _ := strings.Cut(strings.TrimPrefix(words, "error: "), "\n")
		head = strings.TrimPrefix(strings.TrimPrefix(head, "Uncaught "), "(in promise) ")
		kind, message := "Error", head
		if k, m, ok := strings.Cut(head, ": "); ok && !strings.Contains(k, " ") {
			kind, message = k, m
		}
		o.Error = e.explain(&record{Type: kind, Message: message, Stack: head + "\n" + rest})
	default:
		return o.Stderr // it just exits
	}
	return own
}

var (
	frame     = regexp.MustCompile(`^\s+at `)
	linkPlace = regexp.MustCompile(`(?s)\s+at (file:\S+?:\d+:\d+)$`)
	hint      = regexp.MustCompile(`, run again with the (--allow-\w+) flag`)
)

// explain makes the outcome's error of a record.
func (e *ending) explain(rec *record) *runners.Error {
	out := &runners.Error{Type: rec.Type, Message: rec.Message}
	stack := rec.Stack
	if better, ok := deps.Unknown(rec.Message); ok {
		out.Message, stack = better, strings.Replace(stack, rec.Message, better, 1)
	}
	if rec.Load {
		if m, ok := strings.CutPrefix(rec.Message, "SyntaxError: "); ok {
			out.Type, out.Message = "SyntaxError", m
			stack = strings.TrimPrefix(stack, rec.Type+": ")
		}
		out.Message = linkPlace.ReplaceAllString(out.Message, "")
	}
	out.Traceback, out.Line = e.traceback(stack)
	if rec.Load && out.Type == "SyntaxError" {
		out.Message, _, _ = strings.Cut(out.Message, "\n") // the rest shows the place, as the traceback does
	}
	above := e.above(out.Message)
	out.Message = e.clean(hint.ReplaceAllString(out.Message, "; the permissions of this server do not include it ($1)")) + above
	return out
}

var readAccess = regexp.MustCompile(`^Requires read access to "([^"]+)"`)

// above says what to do about packages that look for their configuration in
// the folders above the working folder, and expect not to find any.
func (e *ending) above(message string) string {
	m := readAccess.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	if rel, err := filepath.Rel(filepath.Dir(m[1]), e.work); err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return "; with --ignore-read=/ among them, what may not be read looks as if it were not there"
}

// clean takes the working folder's path out of a text.
func (e *ending) clean(text string) string {
	for _, prefix := range []string{fileURL(e.work) + "/", e.work + string(os.PathSeparator)} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	return text
}

// traceback makes a stack one that shows the program's files only, with the
// lines and columns of its source. Line is the first one in the program.
func (e *ending) traceback(stack string) (text string, line int) {
	place := regexp.MustCompile(`(^|[\s(])` + regexp.QuoteMeta(e.main) + `:(\d+):(\d+)`)
	var kept []string
	for _, l := range strings.Split(hint.ReplaceAllString(strings.TrimSpace(stack), ""), "\n") {
		inside := e.clean(l)
		if frame.MatchString(l) && inside == l {
			continue // Deno's, a package's or ours
		}
		if m := linkPlace.FindStringIndex(l); m != nil && !frame.MatchString(l) {
			// V8 puts the place into the message.
			inside = e.clean(l[:m[0]]) + "\n    at " + e.clean(strings.TrimSpace(l[m[0]:])[len("at "):])
		}
		ours := false
		inside = place.ReplaceAllStringFunc(inside, func(found string) string {
			m := place.FindStringSubmatch(found)
			n, _ := strconv.Atoi(m[2])
			column, _ := strconv.Atoi(m[3])
			column, ours = e.program.Column(n, column)
			if line == 0 && !ours {
				line = n
			}
			return fmt.Sprintf("%s%s:%d:%d", m[1], e.shown, n, column)
		})
		if !ours || !frame.MatchString(l) {
			kept = append(kept, inside)
		}
	}
	return strings.Join(kept, "\n"), line
}
