// Package stacktrace rewrites JavaScript stack traces in the program's own terms: its names,
// lines and columns in place of those of what Deno was given, and no directory of ours.
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

	"coderunner/internal/lazyregexp"
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
var wrappedFrame = lazyregexp.New(`( at require \(node:module:\d+:\d+\))\n +at file:///[^\s()'"]+:7:9\b`)

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

// spot matches a place in a line.
var spot = lazyregexp.New(`(^|[\s(])([^\s()'":]+):(\d+):(\d+)`)

// maxFrames bounds a traceback, in lines.
const maxFrames = 200

// IsFrame reports whether a line of a stack is a frame.
func IsFrame(line string) bool {
	text := strings.TrimLeft(line, " \t")
	return text != line && strings.HasPrefix(text, "at ")
}

// Frames returns the lines of a traceback that are frames with a place.
func Frames(traceback string) (frames []string) {
	for line := range strings.SplitSeq(traceback, "\n") {
		if _, n := Place(line); n > 0 && IsFrame(line) {
			frames = append(frames, line)
		}
	}
	return frames
}

// Place returns the file and the line that a frame names, 0 if it names none.
func Place(frame string) (name string, line int) {
	last := strings.TrimSuffix(frame[strings.LastIndexAny(frame, " (")+1:], ")")
	parts := strings.Split(last, ":")
	n := len(parts)
	if n < 3 {
		return "", 0
	}
	_, err := strconv.Atoi(parts[n-1])
	if line, _ = strconv.Atoi(parts[n-2]); err != nil {
		return "", 0
	}
	return strings.Join(parts[:n-2], ":"), line
}

// Unlinked returns a message without the place that V8 puts at its end.
func Unlinked(message string) string {
	message, _ = unlink(message)
	return message
}

// unlink returns a line, or a message, and the place at its end, "" if there is none.
func unlink(text string) (before, place string) {
	at := strings.LastIndex(text, "at file:")
	if at < 1 || !strings.ContainsAny(text[at-1:at], " \t\n") || strings.ContainsAny(text[at+len("at "):], " \t\n") {
		return text, ""
	}
	if _, n := Place(text[at:]); n == 0 {
		return text, ""
	}
	return strings.TrimRight(text[:at], " \t\n"), text[at+len("at "):]
}

// isWrapper reports whether a line is the frame of the module that Deno makes for a CommonJS
// file.
func isWrapper(line string) bool {
	return IsFrame(line) && strings.HasSuffix(line, ":7:9") && len(strings.Fields(line)) == 2
}

// Trace reduces a stack to frames in the program's files, with the lines and
// columns of its source. Line is the first one in the program.
func (l *Map) Trace(stack string) (text string, line int) {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	if len(lines) > maxFrames {
		lines = append(lines[:maxFrames], "    …")
	}
	var kept []string
	for _, row := range lines {
		inside := l.Clean(row)
		if IsFrame(row) && inside == row {
			continue // Deno's, a package's or ours
		}
		if before, place := unlink(row); place != "" && !IsFrame(row) {
			inside = l.Clean(before) + "\n    at " + l.Clean(place)
		}
		if isWrapper(inside) && len(kept) > 0 && strings.Contains(kept[len(kept)-1], " at Object.<anonymous> (") {
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
		if !ours || !IsFrame(row) {
			kept = append(kept, inside)
		}
	}
	return strings.Join(kept, "\n"), line
}
