package answer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"coderunner/runners"
)

// Text describes the outcome in words. A failure comes first.
func (a *Answer) Text() string {
	var parts []string
	add := func(label, text string) {
		if text = strings.TrimRight(text, "\r\n"); text != "" {
			parts = append(parts, label+text)
		}
	}
	add("language: ", string(a.Structured.Language))
	add("", a.statusText())
	add("stdout:\n", a.Structured.Stdout)
	add("stderr:\n", a.Structured.Stderr)
	for i, d := range a.Structured.Displays {
		label := fmt.Sprintf("display %d: ", i+1)
		if d.Text == "" || d.URI != "" {
			label += d.line()
		}
		if d.Text != "" {
			label += "\n"
		}
		parts = append(parts, label+d.Text)
	}
	if a.apart {
		add("result:\n", a.value)
	} else {
		add("result: ", a.value)
	}
	for i, f := range a.Structured.Files {
		if i == 0 {
			parts = append(parts, "files:")
		}
		add("- ", f.line())
		add("  ", strings.ReplaceAll(strings.TrimRight(f.Text, "\n"), "\n", "\n  "))
	}
	for _, sentence := range a.Structured.Notes {
		add("note: ", sentence)
	}
	if a.Structured.Session != nil {
		add("session: ", a.Structured.Session.text())
	}
	if len(parts) == 0 {
		return "The program succeeded and printed nothing."
	}
	return strings.Join(parts, "\n")
}

// statusText describes why a run did not succeed, and what to do about a limit.
func (a *Answer) statusText() string {
	out, limits := a.Structured, a.limits
	switch out.Status {
	case runners.Succeeded:
		return ""
	case runners.Failed:
		if text := a.errorText(out.Error); text != "" {
			return text
		}
		return fmt.Sprintf("exit code: %d", out.ExitCode)
	case runners.TimedOut:
		return a.withError(fmt.Sprintf("timed out after %s: raise it with timeout_seconds (at most %d).",
			Seconds(limits.Timeout), int(limits.WithDefaults().MaxTimeout.Seconds())), out.Error)
	case runners.OutOfMemory:
		return a.withError(fmt.Sprintf("out of memory: the limit is %d MiB (CODE_RUNNER_MEMORY on the server).",
			limits.Memory>>20), out.Error)
	case runners.OutputLimit:
		if out.Error != nil && out.Error.Type != "OutputLimit" {
			return "stopped: " + out.Error.Message + "."
		}
		return a.withError(fmt.Sprintf("stopped because it printed more than %d bytes, %d times what is kept (CODE_RUNNER_MAX_OUTPUT on the server): print less, or write to a file and print a part.",
			limits.Output*runners.FloodFactor, runners.FloodFactor), out.Error)
	case runners.NotInstalled:
		return a.packagesText(out.Error)
	case runners.Paused:
		return a.withError("paused.", out.Error)
	case runners.Cancelled:
		return "The call was cancelled."
	}
	return a.withError("The runtime died, by a bug in it or in compiled code that the program called.", out.Error)
}

func (a *Answer) packagesText(e *runners.Error) string {
	if e == nil {
		return "not installed: a package cannot be installed."
	}
	if len(e.Packages) == 0 {
		return "not installed: " + a.errorText(e)
	}
	var b strings.Builder
	b.WriteString("These packages cannot be installed:")
	for _, p := range e.Packages {
		fmt.Fprintf(&b, "\n- %s: %s", p.Name, p.Reason)
	}
	if line := a.line(e.Line); line != "" {
		fmt.Fprintf(&b, "\nThe program came to need them in line %d: %s", e.Line, line)
	}
	if e.Hint != "" {
		b.WriteString("\n" + e.Hint)
	}
	return runners.Clip(b.String(), MaxErrorText)
}

// Seconds writes a limit as the argument would have it: "30 s", "0.5 s".
func Seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

// text describes the session in one line.
func (s *Session) text() string {
	text := fmt.Sprintf("%s, state %d", s.Name, s.State)
	if s.Note != "" {
		text += ". " + s.Note
	}
	return text
}
