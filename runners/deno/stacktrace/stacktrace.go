// Package stacktrace has the stacks of JavaScript's errors in the words of the program: its
// own names, lines and columns for what Deno was given instead, and no directory of ours.
package stacktrace

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"coderunner/runners/deno/jsparse"
)

// Script is a program as the frames of stacks have it.
type Script struct {
	shown   string // its name in tracebacks
	program *jsparse.Program
	lines   func() int // of the program
}

// NewScript returns a program by its name in tracebacks.
func NewScript(shown string, p *jsparse.Program) Script {
	return Script{shown, p, sync.OnceValue(p.Lines)}
}

// Map tells what the places in stacks are in the program's own text. Its methods are
// safe for concurrent use.
type Map struct {
	Work    string            // the working directory
	URL     string            // its URL, as Deno writes it
	Cache   string            // the cache's root, "" if frames may show it
	Main    string            // the program's name in stacks
	Scripts map[string]Script // by their names in stacks: the program, and those of its session's earlier calls

	mu      sync.Mutex // for the programs' edits, whose places are found once
	printed *regexp.Regexp
}

// Clean removes the working directory's path from a text.
func (l *Map) Clean(text string) string {
	for _, prefix := range []string{l.URL + "/", l.Work + string(os.PathSeparator)} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	return text
}

// at returns a place in the working directory as the program's text has it, and its line, 0
// if that is not the program's. Edited reports whether the text there is an edit.
func (l *Map) at(name, line, column string) (text string, n int, edited bool) {
	name, err := url.PathUnescape(name) // of a session's later call, the number is after %23
	s, ok := l.Scripts[name]
	if err != nil || !ok {
		return "", 0, false
	}
	n, _ = strconv.Atoi(line)
	c, _ := strconv.Atoi(column)
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := s.lines(); n > last { // in what Deno puts around CommonJS
		n, c = last, 1
	}
	c, edited = s.program.Column(n, c)
	text = fmt.Sprintf("%s:%d:%d", s.shown, n, c)
	if edited || name != l.Main {
		n = 0
	}
	return text, n, edited
}

// has reports whether a text has a directory of ours.
func (l *Map) has(text []byte) bool {
	return bytes.Contains(text, []byte(l.Work)) || l.Cache != "" && bytes.Contains(text, []byte(l.Cache))
}

// wrappedFrame matches the frame of the module that Deno makes for a CommonJS file, after
// that of the call by which it requires the file.
var wrappedFrame = regexp.MustCompile(`( at require \(node:module:\d+:\d+\))\n +at file:///[^\s()'"]+:7:9\b`)

// Show returns what a program has printed, with the places in its files as tracebacks have
// them, and those in packages as in node_modules.
func (l *Map) Show(text string) string {
	if l == nil || !l.has([]byte(text)) {
		return text
	}
	text = wrappedFrame.ReplaceAllString(text, "$1")
	return l.frames().ReplaceAllStringFunc(text, func(found string) string {
		m := l.frames().FindStringSubmatch(found)
		if m[1] == "" {
			return "node_modules/" + m[4] + m[5]
		}
		if text, _, _ := l.at(m[1], m[2], m[3]); text != "" {
			return text
		}
		return m[1] + ":" + m[2] + ":" + m[3]
	})
}

// frames returns what matches these places.
func (l *Map) frames() *regexp.Regexp {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.printed == nil {
		const name = `[^\s()'":]+`
		expr := `(?:file://)?(?:` + regexp.QuoteMeta(l.Work) + `/(` + name + `):(\d+):(\d+)`
		if l.Cache != "" {
			expr += `|` + regexp.QuoteMeta(l.Cache) + `/(?:` + name + `/node_modules/|deno/npm/[^\s()'":/]+/((?:@[^\s()'":/]+/)?[^\s()'":/]+/)[^\s()'":/]+/)(` + name + `:\d+:\d+)`
		}
		l.printed = regexp.MustCompile(expr + `)`)
	}
	return l.printed
}

var (
	spot    = regexp.MustCompile(`(^|[\s(])([^\s()'":]+):(\d+):(\d+)`)
	frame   = regexp.MustCompile(`^\s+at `)
	linked  = regexp.MustCompile(`(?s)\s+at (file:\S+?:\d+:\d+)$`) // V8 puts the position into the message
	flagged = regexp.MustCompile(`, run again with the (--allow-\w+) flag`)
	wrapper = regexp.MustCompile(`^\s+at \S+:7:9$`) // the frame of the module that Deno makes for a CommonJS file
)

// maxFrames bounds a traceback, in lines.
const maxFrames = 200

// IsFrame reports whether a line of a stack is a frame.
func IsFrame(line string) bool { return frame.MatchString(line) }

// Unlinked returns a message without the place that V8 puts at its end.
func Unlinked(message string) string { return linked.ReplaceAllString(message, "") }

// Trace reduces a stack to frames in the program's files, with the lines and
// columns of its source. Line is the first one in the program.
func (l *Map) Trace(stack string) (text string, line int) {
	lines := strings.Split(flagged.ReplaceAllString(strings.TrimSpace(stack), ""), "\n")
	if len(lines) > maxFrames {
		lines = append(lines[:maxFrames], "    …")
	}
	var kept []string
	for _, row := range lines {
		inside := l.Clean(row)
		if frame.MatchString(row) && inside == row {
			continue // Deno's, a package's or ours
		}
		if m := linked.FindStringIndex(row); m != nil && !frame.MatchString(row) {
			// V8 puts the position into the message.
			inside = l.Clean(row[:m[0]]) + "\n    at " + l.Clean(strings.TrimSpace(row[m[0]:])[len("at "):])
		}
		if wrapper.MatchString(inside) && len(kept) > 0 && strings.Contains(kept[len(kept)-1], " at Object.<anonymous> (") {
			continue // Deno's module around a CommonJS file
		}
		ours := false
		inside = spot.ReplaceAllStringFunc(inside, func(found string) string {
			m := spot.FindStringSubmatch(found)
			at, n, edited := l.at(m[2], m[3], m[4])
			if at == "" {
				return found
			}
			if ours = edited; line == 0 {
				line = n
			}
			return m[1] + at
		})
		if !ours || !frame.MatchString(row) {
			kept = append(kept, inside)
		}
	}
	return strings.Join(kept, "\n"), line
}
