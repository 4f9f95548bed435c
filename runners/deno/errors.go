package deno

import (
	"fmt"
	"regexp"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/report"
	"coderunner/runners/deno/stacktrace"
	"coderunner/runners/hint"
)

var (
	spot      = regexp.MustCompile(`(^|[\s(])([^\s()'":]+):(\d+):(\d+)`)
	frame     = regexp.MustCompile(`^\s+at `)
	linkPlace = regexp.MustCompile(`(?s)\s+at (file:\S+?:\d+:\d+)$`)
	flagged   = regexp.MustCompile(`, run again with the (--allow-\w+) flag`)
)

// unnamed matches the message about a name that a module does not export.
var unnamed = regexp.MustCompile(`^The requested module '([^']+)' does not provide an export named '([\w$]+)'`)

// wrapper matches the frame of the module that Deno makes for a CommonJS file.
var wrapper = regexp.MustCompile(`^\s+at \S+:7:9$`)

// Bounds of an error's text, which is untrusted.
const (
	maxTrace  = 64 << 10 // bytes
	maxFrames = 200      // lines
)

// explain returns the outcome's error for what was thrown.
func (e *ending) explain(t *report.Thrown) *runners.Error {
	rows := hint.For("javascript")
	out := &runners.Error{Type: t.Kind, Message: deps.Shorten(t.Message, maxTrace)}
	stack := rows.Cut(deps.Shorten(t.Stack, maxTrace))
	better, ok := deps.Unknown(out.Message)
	if rest, own := strings.CutPrefix(out.Message, `Module not found "`+process.FileURL(e.Work)+"/"); own {
		better, ok = `Module not found "./`+strings.Replace(rest, `".`, `"`, 1), true
	}
	if ok {
		stack = strings.Replace(stack, rows.Cut(out.Message), rows.Cut(better), 1)
		out.Message = better
	}
	if t.Load {
		if m, ok := strings.CutPrefix(out.Message, "SyntaxError: "); ok {
			out.Type, out.Message = "SyntaxError", m
			stack = strings.TrimPrefix(stack, t.Kind+": ")
		}
		out.Message = linkPlace.ReplaceAllString(out.Message, "")
	}
	out.Traceback, out.Line = e.traceback(stacktrace.Unedited(stack, e.program))
	if at := e.placeOf(t); at.Line > 0 && out.Line == 0 && !strings.Contains(out.Traceback, "\n    at ") {
		out.Traceback, out.Line = fmt.Sprintf("%s\n    at %s:%d:%d", out.Traceback, e.shown, at.Line, at.Column), at.Line
	}
	if t.Load && out.Type == "SyntaxError" && !strings.Contains(out.Message, notJSON) {
		out.Message, _, _ = strings.Cut(out.Message, "\n") // the rest shows the place, as the traceback does
	}
	out.Message = e.Clean(out.Message)
	return out
}

// unresolved is Deno's message about a program that waits for what cannot happen.
const unresolved = "Top-level await promise never resolved"

// traceback reduces a stack to frames in the program's files, with the lines and
// columns of its source. Line is the first one in the program.
func (e *ending) traceback(stack string) (text string, line int) {
	lines := strings.Split(flagged.ReplaceAllString(strings.TrimSpace(deps.Shorten(stack, maxTrace)), ""), "\n")
	if len(lines) > maxFrames {
		lines = append(lines[:maxFrames], "    …")
	}
	var kept []string
	for _, l := range lines {
		inside := e.Clean(l)
		if frame.MatchString(l) && inside == l {
			continue // Deno's, a package's or ours
		}
		if m := linkPlace.FindStringIndex(l); m != nil && !frame.MatchString(l) {
			// V8 puts the position into the message.
			inside = e.Clean(l[:m[0]]) + "\n    at " + e.Clean(strings.TrimSpace(l[m[0]:])[len("at "):])
		}
		if wrapper.MatchString(inside) && len(kept) > 0 && strings.Contains(kept[len(kept)-1], " at Object.<anonymous> (") {
			continue // Deno's module around a CommonJS file
		}
		ours := false
		inside = spot.ReplaceAllStringFunc(inside, func(found string) string {
			m := spot.FindStringSubmatch(found)
			at, n, edited := e.At(m[2], m[3], m[4])
			if at == "" {
				return found
			}
			if ours = edited; line == 0 {
				line = n
			}
			return m[1] + at
		})
		if !ours || !frame.MatchString(l) {
			kept = append(kept, inside)
		}
	}
	return strings.Join(kept, "\n"), line
}
