package deno

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

// script is a program as the frames of stacks have it.
type script struct {
	shown   string // its name in tracebacks
	program *jsparse.Program
	lines   func() int // of the program
}

func newScript(shown string, p *jsparse.Program) script {
	return script{shown, p, sync.OnceValue(p.Lines)}
}

// places tells what the places in stacks are in the program's own text. Its methods are
// safe for concurrent use.
type places struct {
	work    string            // the working directory
	cache   string            // the cache's root, "" if frames may show it
	main    string            // the program's name in stacks
	scripts map[string]script // by their names in stacks: the program, and those of its session's earlier calls

	mu      sync.Mutex // for the programs' edits, whose places are found once
	printed *regexp.Regexp
}

func (j *job) newPlaces(in *process.Instance) *places {
	l := &places{work: in.Dir.Work(), cache: j.leases.Config.Cache.Root(), main: j.script, scripts: map[string]script{}}
	maps.Copy(l.scripts, j.scripts)
	l.scripts[j.script] = newScript(j.shown, j.program)
	return l
}

// clean removes the working directory's path from a text.
func (l *places) clean(text string) string {
	for _, prefix := range []string{process.FileURL(l.work) + "/", l.work + string(os.PathSeparator)} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	return text
}

// at returns a place in the working directory as the program's text has it, and its line, 0
// if that is not the program's. Edited reports whether the text there is an edit.
func (l *places) at(name, line, column string) (text string, n int, edited bool) {
	name, err := url.PathUnescape(name) // of a session's later call, the number is after %23
	s, ok := l.scripts[name]
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
	if edited || name != l.main {
		n = 0
	}
	return text, n, edited
}

// has reports whether a text has a directory of ours.
func (l *places) has(text []byte) bool {
	return bytes.Contains(text, []byte(l.work)) || l.cache != "" && bytes.Contains(text, []byte(l.cache))
}

// wrappedFrame matches the frame of the module that Deno makes for a CommonJS file, after
// that of the call by which it requires the file.
var wrappedFrame = regexp.MustCompile(`( at require \(node:module:\d+:\d+\))\n +at file:///[^\s()'"]+:7:9\b`)

// show returns what a program has printed, with the places in its files as tracebacks have
// them, and those in packages as in node_modules.
func (l *places) show(text string) string {
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
func (l *places) frames() *regexp.Regexp {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.printed == nil {
		const name = `[^\s()'":]+`
		expr := `(?:file://)?(?:` + regexp.QuoteMeta(l.work) + `/(` + name + `):(\d+):(\d+)`
		if l.cache != "" {
			expr += `|` + regexp.QuoteMeta(l.cache) + `/(?:` + name + `/node_modules/|deno/npm/[^\s()'":/]+/((?:@[^\s()'":/]+/)?[^\s()'":/]+/)[^\s()'":/]+/)(` + name + `:\d+:\d+)`
		}
		l.printed = regexp.MustCompile(expr + `)`)
	}
	return l.printed
}

// placed passes on what a program prints, as places shows it.
type placed struct {
	w io.Writer
	*places
	rest []byte // the beginning of what may be a place
}

// maxPlace bounds rest, in bytes.
const maxPlace = 4096

// unended matches the beginning of a place in a file at the end of a text.
var unended = regexp.MustCompile(`file:///[^\s()'"]*$`)

// Write implements io.Writer.
func (p *placed) Write(b []byte) (int, error) {
	if len(p.rest) == 0 && !bytes.Contains(b, []byte("file:///")) && !p.has(b) {
		return p.w.Write(b)
	}
	text := append(p.rest, b...)
	tail := text[max(0, len(text)-maxPlace):]
	p.rest = nil
	if m := unended.FindIndex(tail); m != nil && m[0] > 0 {
		p.rest = append(p.rest, tail[m[0]:]...)
	} else if m != nil && len(text) < maxPlace {
		p.rest = text
	}
	if err := p.pass(text[:len(text)-len(p.rest)]); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p *placed) pass(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := io.WriteString(p.w, p.show(string(text)))
	return err
}

// end passes on what is left.
func (p *placed) end() {
	if len(p.rest) > 0 {
		_ = p.pass(p.rest)
		p.rest = nil
	}
}
