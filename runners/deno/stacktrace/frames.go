// Package stacktrace has the stacks and messages of a program be about the program's own text,
// where Deno's are about a copy with edits in a directory of ours.
package stacktrace

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
)

// Script is a program as the frames of stacks have it.
type Script struct {
	shown   string // its name in tracebacks
	program *jsparse.Program
	lines   func() int // of the program
}

func NewScript(shown string, p *jsparse.Program) Script {
	return Script{shown, p, sync.OnceValue(p.Lines)}
}

// Places tells what the places in stacks are in the program's own text. Its methods are
// safe for concurrent use.
type Places struct {
	Work    string            // the working directory
	Cache   string            // the cache's root, "" if frames may show it
	Main    string            // the program's name in stacks
	Scripts map[string]Script // by their names in stacks: the program, and those of its session's earlier calls

	mu      sync.Mutex // for the programs' edits, whose places are found once
	printed *regexp.Regexp
}

// newPlaces returns the places of a program in a working directory. Earlier are those of its
// session.
func New(work, cache, main string, program Script, earlier map[string]Script) *Places {
	l := &Places{Work: work, Cache: cache, Main: main, Scripts: map[string]Script{}}
	maps.Copy(l.Scripts, earlier)
	l.Scripts[main] = program
	return l
}

// Clean removes the working directory's path from a text.
func (l *Places) Clean(text string) string {
	for _, prefix := range []string{process.FileURL(l.Work) + "/", l.Work + string(os.PathSeparator)} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	return text
}

// At returns a place in the working directory as the program's text has it, and its line, 0
// if that is not the program's. Edited reports whether the text there is an edit.
func (l *Places) At(name, line, column string) (text string, n int, edited bool) {
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
func (l *Places) has(text []byte) bool {
	return bytes.Contains(text, []byte(l.Work)) || l.Cache != "" && bytes.Contains(text, []byte(l.Cache))
}

// wrappedFrame matches the frame of the module that Deno makes for a CommonJS file, after
// that of the call by which it requires the file.
var wrappedFrame = regexp.MustCompile(`( at require \(node:module:\d+:\d+\))\n +at file:///[^\s()'"]+:7:9\b`)

// Show returns what a program has printed, with the places in its files as tracebacks have
// them, and those in packages as in node_modules.
func (l *Places) Show(text string) string {
	if l == nil || !l.has([]byte(text)) {
		return text
	}
	text = wrappedFrame.ReplaceAllString(text, "$1")
	return l.frames().ReplaceAllStringFunc(text, func(found string) string {
		m := l.frames().FindStringSubmatch(found)
		if m[1] == "" {
			return "node_modules/" + m[4] + m[5]
		}
		if text, _, _ := l.At(m[1], m[2], m[3]); text != "" {
			return text
		}
		return m[1] + ":" + m[2] + ":" + m[3]
	})
}

// frames returns what matches these places.
func (l *Places) frames() *regexp.Regexp {
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

// placed passes on what a program prints, as places shows it.
type Writer struct {
	To io.Writer
	*Places
	rest []byte // the beginning of what may be a place
}

// MaxPlace bounds rest, in bytes.
const MaxPlace = 4096

// unended matches the beginning of a place in a file at the end of a text.
var unended = regexp.MustCompile(`file:///[^\s()'"]*$`)

// Write implements io.Writer.
func (p *Writer) Write(b []byte) (int, error) {
	if len(p.rest) == 0 && !bytes.Contains(b, []byte("file:///")) && !p.has(b) {
		return p.To.Write(b)
	}
	text := append(p.rest, b...)
	tail := text[max(0, len(text)-MaxPlace):]
	p.rest = nil
	if m := unended.FindIndex(tail); m != nil && m[0] > 0 {
		p.rest = append(p.rest, tail[m[0]:]...)
	} else if m != nil && len(text) < MaxPlace {
		p.rest = text
	}
	if err := p.pass(text[:len(text)-len(p.rest)]); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p *Writer) pass(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := io.WriteString(p.To, p.Show(string(text)))
	return err
}

// End passes on what is left.
func (p *Writer) End() {
	if len(p.rest) > 0 {
		_ = p.pass(p.rest)
		p.rest = nil
	}
}
