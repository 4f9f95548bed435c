package server

import (
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/runners"
)

// text describes the outcome in words. A failure comes first.
func (c *content) text() string {
	var parts []string
	add := func(label, text string) {
		if text = strings.TrimRight(text, "\r\n"); text != "" {
			parts = append(parts, label+text)
		}
	}
	add("language: ", string(c.shown.Language))
	add("", c.statusText())
	add("stdout:\n", c.shown.Stdout)
	add("stderr:\n", c.shown.Stderr)
	for i, d := range c.shown.Displays {
		label := fmt.Sprintf("display %d: ", i+1)
		if d.Text == "" || d.URI != "" {
			label += d.itemText()
		}
		if d.Text != "" {
			label += "\n"
		}
		parts = append(parts, label+d.Text)
	}
	if c.apart {
		add("result:\n", c.value)
	} else {
		add("result: ", c.value)
	}
	for i, f := range c.shown.Files {
		if i == 0 {
			parts = append(parts, "files:")
		}
		add("- ", f.itemText())
		add("  ", strings.ReplaceAll(strings.TrimRight(f.Text, "\n"), "\n", "\n  "))
	}
	for _, sentence := range c.more {
		add("", sentence)
	}
	if c.shown.Session != nil {
		add("session: ", c.shown.Session.text())
	}
	if len(parts) == 0 {
		return "The program succeeded and printed nothing."
	}
	return strings.Join(parts, "\n")
}

// blocks returns the content blocks: the text, the images, and a link to each
// file that is not shown in full.
func (c *content) blocks() []mcp.Content {
	blocks := []mcp.Content{mcp.NewTextContent(c.text())}
	var links []mcp.Content
	for _, it := range append(c.shown.Displays[:len(c.shown.Displays):len(c.shown.Displays)], c.shown.Files...) {
		switch {
		case it.image != nil:
			blocks = append(blocks, mcp.NewImageContent(base64.StdEncoding.EncodeToString(it.image.Data), it.image.MIME))
		case it.URI != "" && (it.Path == "" || it.Text == ""):
			name := it.Path
			if name == "" {
				name = path.Base(it.URI)
			}
			link := mcp.NewResourceLink(it.URI, name, "", it.MIME)
			link.Size, link.Meta = &it.Size, digestMeta(it.sha256)
			links = append(links, link)
		}
	}
	return append(blocks, links...)
}

// statusText describes why a run did not succeed, and what to do about a limit.
func (c *content) statusText() string {
	out, limits := c.shown, c.limits
	switch out.Status {
	case runners.Succeeded:
		return ""
	case runners.Failed:
		if text := c.errorText(out.Error); text != "" {
			return text
		}
		return fmt.Sprintf("exit code: %d", out.ExitCode)
	case runners.TimedOut:
		return c.withError(fmt.Sprintf("timed out after %s: raise it with timeout_seconds (at most %d).",
			seconds(limits.Timeout), int(runners.MaxTimeout.Seconds())), out.Error)
	case runners.OutOfMemory:
		return c.withError(fmt.Sprintf("out of memory: the limit is %d MiB (CODE_RUNNER_MEMORY on the server).",
			limits.Memory>>20), out.Error)
	case runners.OutputLimit:
		if out.Error != nil && out.Error.Type != "OutputLimit" {
			return "stopped: " + out.Error.Message + "."
		}
		return c.withError(fmt.Sprintf("stopped because it printed more than %d bytes, %d times what is kept (CODE_RUNNER_MAX_OUTPUT on the server): print less, or write to a file and print a part.",
			limits.Output*runners.FloodFactor, runners.FloodFactor), out.Error)
	case runners.NotInstalled:
		return c.packagesText(out.Error)
	case runners.Cancelled:
		return "The call was cancelled."
	}
	return c.withError("The runtime died, by a bug in it or in compiled code that the program called.", out.Error)
}

// withError adds where the program was to why it was stopped.
func (c *content) withError(text string, e *runners.Error) string {
	limit := c.limits.Exceeded(c.shown.Status) // text has it in other words
	detail := strings.TrimPrefix(c.errorText(e), limit.Type+": "+limit.Message)
	if detail = strings.TrimPrefix(detail, "\n"); detail != "" {
		return text + "\n" + detail
	}
	return text
}

// errorText returns the error, then where it was: the user's lines.
func (c *content) errorText(e *runners.Error) string {
	if e == nil {
		return ""
	}
	e = foldError(e)
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
	if line := c.line(e.Line); line != "" && !strings.Contains(trace, line) {
		message, rest, _ := strings.Cut(trace, "\n")
		if after, ok := strings.CutPrefix(trace, head); ok && strings.Contains(head, "\n") {
			message, rest = head, strings.TrimPrefix(after, "\n")
		}
		trace = strings.TrimRight(fmt.Sprintf("%s\n    line %d: %s\n%s", message, e.Line, line, rest), "\n")
	} else if e.Line > 0 && e.Traceback == "" {
		trace += fmt.Sprintf(" (line %d)", e.Line)
	}
	return runners.Clip(trace, maxErrorText)
}

// line returns a line of the program, without its indentation.
func (c *content) line(n int) string {
	if n <= 0 || len(c.code) > maxLineCode {
		return ""
	}
	lines := strings.Split(c.code, "\n")
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
var elsewhere = regexp.MustCompile(`\n(Thread|Task)s? .* \(most recent call last\):\n`)

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

func (c *content) packagesText(e *runners.Error) string {
	if e == nil {
		return "not installed: a package cannot be installed."
	}
	if len(e.Packages) == 0 {
		return "not installed: " + c.errorText(e)
	}
	var b strings.Builder
	b.WriteString("These packages cannot be installed:")
	for _, p := range e.Packages {
		fmt.Fprintf(&b, "\n- %s: %s", p.Name, p.Reason)
	}
	if e.Hint != "" {
		b.WriteString("\n" + e.Hint)
	}
	return runners.Clip(b.String(), maxErrorText)
}

// seconds writes a limit as the argument would have it: "30 s", "0.5 s".
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

// text describes the session in one line.
func (s *shownSession) text() string {
	text := fmt.Sprintf("%s, state %d", s.Name, s.State)
	if s.Note != "" {
		text += ". " + s.Note
	}
	return text
}
