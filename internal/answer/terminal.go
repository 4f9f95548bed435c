package answer

import (
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners"
)

// escape matches an ANSI sequence: CSI, OSC, or one of two or three bytes.
var escape = lazyregexp.New(`^\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()#][0-9A-Za-z]|[ -~]?)`)

// OnTerminal returns what a terminal would show of a text in the end: no ANSI
// sequences, and each line in the state in which \r, \b and "erase line" left
// it. A progress bar is one line.
func OnTerminal(text string) string {
	if !strings.ContainsAny(text, "\x1b\r\b\a") {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, newline := strings.CutSuffix(line, "\n")
		if strings.ContainsAny(strings.TrimSuffix(line, "\r"), "\x1b\r\b\a") {
			line = lineOnTerminal(line)
		}
		out.WriteString(strings.TrimSuffix(line, "\r"))
		if newline {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func lineOnTerminal(line string) string {
	var shown []rune
	at := 0 // the cursor's column
	for line != "" {
		if m := escape.FindStringSubmatch(line); m != nil {
			line = line[len(m[0]):]
			switch {
			case m[2] == "K" && (m[1] == "" || m[1] == "0"):
				shown = shown[:min(at, len(shown))]
			case m[2] == "K" && m[1] == "2":
				shown = shown[:0]
			}
			continue
		}
		n := strings.IndexAny(line, "\x1b\r\b\a")
		if n < 0 {
			n = len(line)
		}
		for _, r := range line[:n] {
			for len(shown) <= at { // an erased line is shorter than the cursor's column
				shown = append(shown, ' ')
			}
			shown[at] = r
			at++
		}
		if line = line[n:]; line == "" || line[0] == '\x1b' {
			continue
		}
		switch line[0] {
		case '\r':
			at = 0
		case '\b':
			at = max(at-1, 0)
		}
		line = line[1:]
	}
	return strings.TrimRight(string(shown), " ")
}

// errorOnTerminal returns an error as a terminal would show it: some libraries underline
// what is wrong.
func errorOnTerminal(e *runners.Error) *runners.Error {
	shown := *e
	shown.Message, shown.Traceback = OnTerminal(e.Message), OnTerminal(e.Traceback)
	return &shown
}
