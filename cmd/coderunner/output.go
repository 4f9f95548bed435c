package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"coderunner/internal/lazyregexp"
	"coderunner/runners"
)

// stream is our stdout or stderr, which gets a program's output as it comes.
type stream struct {
	f      *os.File
	left   int64       // bytes that may still come; negative: no limit
	inLine atomic.Bool // what is shown last was not a newline
	err    error       // of the last Write
}

// errTooMuch is the error of a stream that got more than --max-output.
var errTooMuch = errors.New("too much output")

// openStreams returns the streams of a program, with at most limit bytes each
// unless that is negative. They are one where our stdout and stderr are the same
// terminal, pipe or file: then the order of what is printed is kept.
func openStreams(limit int64) (stdout, stderr *stream) {
	stdout = &stream{f: os.Stdout, left: limit}
	a, errA := os.Stdout.Stat()
	b, errB := os.Stderr.Stat()
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return stdout, stdout
	}
	return stdout, &stream{f: os.Stderr, left: limit}
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (n int, err error) {
	cut := s.left >= 0 && int64(len(p)) > s.left
	if cut {
		p = p[:s.left]
	}
	if len(p) > 0 {
		s.inLine.Store(p[len(p)-1] != '\n')
		n, s.err = s.f.Write(p)
	}
	if s.left >= 0 {
		s.left -= int64(n)
	}
	if s.err == nil && cut {
		s.err = errTooMuch
	}
	return n, s.err
}

// printLine writes our own words, on lines of their own.
func (s *stream) printLine(text string) error {
	if s.inLine.Swap(false) {
		text = "\n" + text
	}
	_, err := fmt.Fprintln(s.f, strings.TrimRight(text, "\n"))
	return err
}

// printEnd prints what there is to say when a program has ended: the value of
// its last expression, and why it ended, if not well. The error means that
// nobody reads our output.
func printEnd(stdout, stderr *stream, out *runners.Outcome, limits runners.Limits, notSeen string) error {
	for _, s := range []*stream{stdout, stderr} {
		switch {
		case s.err == nil:
		case errors.Is(s.err, errTooMuch):
			return stderr.printLine(fmt.Sprintf("coderunner: stopped after %d bytes of output (--max-output)", limits.Output))
		default:
			return s.err
		}
	}
	if out.Result != nil {
		if err := stdout.printLine(out.Result.Text); err != nil {
			return err
		}
	}
	if fetched := out.Fetched(); fetched != "" {
		if err := stderr.printLine("coderunner: " + fetched); err != nil {
			return err
		}
	}
	text := endText(out, limits, notSeen)
	if !strings.Contains(text, notSeen) { // strings.Contains(text, "") is true
		text = strings.TrimPrefix(text+"\n"+notSeen, "\n")
	}
	if text != "" {
		return stderr.printLine(text)
	}
	return nil
}

var permission = lazyregexp.New(`--allow-\w+`)

// endText returns why a program ended and what its author should know besides, "" if
// it ended well or chose its exit code. notSeen is a line about a file that it did not
// find.
func endText(out *runners.Outcome, limits runners.Limits, notSeen string) string {
	text := errorText(out, limits, notSeen)
	if out.Note != "" {
		return strings.TrimLeft(strings.TrimRight(text, "\n")+"\ncoderunner: "+out.Note, "\n")
	}
	if refused := out.Refusals(); out.Error == nil && len(refused) > 0 {
		return "coderunner: " + refused[0]
	}
	return text
}

// errorText returns why a program ended, "" if there is nothing to say.
func errorText(out *runners.Outcome, limits runners.Limits, notSeen string) string {
	e := out.Error
	if e == nil || out.Status == runners.Cancelled { // whoever cancelled it knows
		return ""
	}
	if e.Shown && out.Status == runners.Failed {
		return ""
	}
	var text string
	if e.Traceback != "" {
		text = strings.Trim(e.Traceback, "\n") + "\n"
		// The message has more, such as which permission is missing.
		head, rest, _ := strings.Cut(text, "\n")
		if full := e.Type + ": " + e.Message; out.Status == runners.Failed && strings.HasPrefix(full, head) && !strings.HasPrefix(text, full) {
			text = full + "\n" + rest
		}
	}
	switch {
	case out.Status == runners.TimedOut:
		_, more, _ := strings.Cut(e.Message, "\n") // what else the program waits for
		return strings.TrimSuffix(text+fmt.Sprintf("coderunner: timed out after %s (--timeout)\n%s", limits.Timeout, more), "\n")
	case out.Status == runners.OutOfMemory:
		return text + "coderunner: out of memory: " + e.Message + " (--memory)"
	case text == "" || out.Status == runners.Failed && !strings.Contains(text, e.Message):
		text += e.Type + ": " + e.Message + "\n"
	}
	if out.Status == runners.Paused {
		text += fmt.Sprintf("coderunner: \"coderunner sessions approve %s\" makes the calls and has the program go on, reject refuses them\n", out.Continued.Session)
	}
	if m := permission.FindString(e.Message); m != "" && e.Type == "NotCapable" {
		text += "coderunner: " + m + " allows it\n"
	}
	text += notSeen
	for _, p := range e.Packages {
		text += "  " + p.Name + ": " + p.Reason + "\n"
	}
	if e.Hint != "" {
		text += "  " + strings.ReplaceAll(e.Hint, "\n", "\n  ") + "\n"
	}
	return text
}

// brokenPipe reports whether an error means that the reader of a pipe has gone.
func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
