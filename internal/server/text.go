package server

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"coderunner/runners"
)

// What a model is shown of each part, in bytes. The structured result has all
// of it. Together they stay well below the 25,000 tokens at which clients cut.
const (
	maxStdoutText = 24_000
	maxStderrText = 8_000
	maxResultText = 8_000
	maxErrorText  = 8_000
)

// outcomeText describes an outcome in words.
func outcomeText(out *runners.Outcome, limits runners.Limits) string {
	var parts []string
	add := func(label, text string, max int) {
		if text = strings.TrimRight(text, "\r\n"); text != "" {
			parts = append(parts, label+runners.Clip(text, max))
		}
	}
	add("language: ", string(out.Language), maxNameText)
	add("stdout:\n", out.Stdout, maxStdoutText)
	add("stderr:\n", out.Stderr, maxStderrText)
	if out.Result != nil {
		add("result: ", out.Result.Text, maxResultText)
	}
	if out.StdoutTruncated || out.StderrTruncated {
		parts = append(parts, fmt.Sprintf(
			"The output was cut: the first and last %d bytes of a stream are kept (CODE_RUNNER_MAX_OUTPUT on the server).",
			limits.Output/2))
	}
	if text := statusText(out, limits); text != "" {
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "The program succeeded and printed nothing."
	}
	return strings.Join(parts, "\n")
}

// statusText describes why a run did not succeed, and what to do about a limit.
func statusText(out *runners.Outcome, limits runners.Limits) string {
	switch out.Status {
	case runners.Succeeded:
		return ""
	case runners.Failed:
		if text := errorText(out.Error); text != "" {
			return text
		}
		return fmt.Sprintf("exit code: %d", out.ExitCode)
	case runners.TimedOut:
		return withError(fmt.Sprintf("timed out after %s: raise it with timeout_seconds (at most %d).",
			seconds(limits.Timeout), int(runners.MaxTimeout.Seconds())), out.Error)
	case runners.OutOfMemory:
		return withError(fmt.Sprintf("out of memory: the limit is %d MiB (CODE_RUNNER_MEMORY on the server).",
			limits.Memory>>20), out.Error)
	case runners.OutputLimit:
		if out.Error != nil && out.Error.Type != "OutputLimit" {
			return "stopped: " + out.Error.Message + "."
		}
		return withError(fmt.Sprintf("stopped because it printed more than %d bytes, %d times what is kept (CODE_RUNNER_MAX_OUTPUT on the server): print less, or write to a file and print a part.",
			limits.Output*runners.FloodFactor, runners.FloodFactor), out.Error)
	case runners.NotInstalled:
		return packagesText(out.Error)
	case runners.Cancelled:
		return "The call was cancelled."
	}
	return withError("The runtime died, by a bug in it or in compiled code that the program called.", out.Error)
}

// withError adds where the program was to why it was stopped.
func withError(text string, e *runners.Error) string {
	if detail := errorText(e); detail != "" {
		return text + "\n" + detail
	}
	return text
}

// errorText returns the traceback, which in both languages has the type and the
// message in it, or what there is instead.
func errorText(e *runners.Error) string {
	if e == nil {
		return ""
	}
	head := e.Type
	if e.Message != "" {
		if head != "" {
			head += ": "
		}
		head += e.Message
	}
	text := strings.TrimRight(e.Traceback, "\n")
	switch {
	case text == "":
		text = head
		if e.Line > 0 {
			text += fmt.Sprintf(" (line %d)", e.Line)
		}
	case e.Message != "" && !strings.Contains(text, e.Message):
		text += "\n" + head
	}
	return runners.Clip(text, maxErrorText)
}

func packagesText(e *runners.Error) string {
	if e == nil {
		return "not installed: a package cannot be installed."
	}
	if len(e.Packages) == 0 {
		return "not installed: " + errorText(e)
	}
	var b strings.Builder
	b.WriteString("These packages cannot be installed:")
	for _, p := range e.Packages {
		fmt.Fprintf(&b, "\n- %s: %s", p.Name, p.Reason)
	}
	return runners.Clip(b.String(), maxErrorText)
}

// seconds writes a limit as the argument would have it: "30 s", "0.5 s".
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}
