package answer

import (
	"fmt"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners"
)

// withError adds where the program was to why it was stopped.
func (a *Answer) withError(text string, e *runners.Error) string {
	limit := a.limits.Exceeded(a.Structured.Status) // text has it in other words
	detail := strings.TrimPrefix(a.errorText(e), limit.Type+": "+limit.Message)
	if detail = strings.TrimPrefix(detail, "\n"); detail != "" {
		return text + "\n" + detail
	}
	return text
}

// errorText returns the error, then where it was: the user's lines.
func (a *Answer) errorText(e *runners.Error) string {
	if e == nil {
		return ""
	}
	e = errorOnTerminal(e)
	head := e.Type
	if e.Message != "" {
		if head != "" {
			head += ": "
		}
		head += e.Message
	}
	trace := strings.TrimRight(e.Traceback, "\n")
	if rest, ok := strings.CutPrefix(trace, e.Type+" ["); ok {
		// Node writes an error's code after its type.
		if code, after, ok := strings.Cut(rest, "]: "); ok && strings.HasPrefix(after, e.Message) {
			head = e.Type + " [" + code + "]: " + e.Message
		}
	}
	if rest, ok := strings.CutPrefix(trace, "Uncaught "+e.Message); ok {
		trace = head + rest // of JavaScript's values that are no errors
	}
	frames, last, ok := pythonTrace(trace)
	if ok && strings.Contains(last, strings.TrimRight(e.Message, "\n")) {
		trace = last + "\n" + frames // last has the type's module, notes and suggestions
	} else if ok && !strings.Contains(frames, traceHead) {
		trace = head + "\n" + frames
		if at := elsewhere.FindStringIndex(last); at != nil {
			trace += "\n" + last[at[0]:]
		}
	} else if e.Message != "" && !strings.HasPrefix(trace, head) {
		// The message has more than the traceback, or comes at its end.
		trace = head + "\n" + strings.TrimSuffix(trace, head)
	}
	trace = strings.TrimRight(trace, "\n")
	if line := a.line(e.Line); line != "" && !strings.Contains(trace, line) {
		message, rest, _ := strings.Cut(trace, "\n")
		if after, ok := strings.CutPrefix(trace, head); ok && strings.Contains(head, "\n") {
			message, rest = head, strings.TrimPrefix(after, "\n")
		}
		trace = strings.TrimRight(fmt.Sprintf("%s\n    line %d: %s\n%s", message, e.Line, line, rest), "\n")
	} else if e.Line > 0 && e.Traceback == "" {
		trace += fmt.Sprintf(" (line %d)", e.Line)
	}
	return runners.Clip(trace, MaxErrorText)
}

// line returns a line of the program, without its indentation.
func (a *Answer) line(n int) string {
	if n <= 0 || len(a.code) > maxLineCode {
		return ""
	}
	lines := strings.Split(a.code, "\n")
	if n > len(lines) {
		return ""
	}
	return runners.ClipLine(strings.TrimSpace(lines[n-1]), maxSourceLine)
}

const (
	maxLineCode   = 256 << 10 // bytes of a program whose lines are looked up
	maxSourceLine = 200       // bytes
)

const traceHead = "Traceback (most recent call last):\n"

// elsewhere matches where a traceback goes on with other threads and tasks.
var elsewhere = lazyregexp.New(`\n(Thread|Task)s? .* \(most recent call last\):\n`)

// pythonTrace splits a traceback into its frames, with the exceptions before it
// where it has any, and what comes last, the exception.
func pythonTrace(trace string) (frames, last string, ok bool) {
	at := strings.LastIndex(trace, traceHead)
	if at < 0 || at > 0 && trace[at-1] != '\n' {
		return "", "", false
	}
	at += len(traceHead)
	for strings.HasPrefix(trace[at:], " ") {
		n := strings.IndexByte(trace[at:], '\n')
		if n < 0 {
			return "", "", false
		}
		at += n + 1
	}
	frames = trace[:at]
	if strings.LastIndex(frames, traceHead) == 0 {
		frames = frames[len(traceHead):] // the only one
	}
	return strings.TrimRight(frames, "\n"), trace[at:], at < len(trace)
}
