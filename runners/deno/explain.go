package deno

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
)

var (
	spot      = regexp.MustCompile(`(^|[\s(])([^\s()'":]+):(\d+):(\d+)`)
	frame     = regexp.MustCompile(`^\s+at `)
	linkPlace = regexp.MustCompile(`(?s)\s+at (file:\S+?:\d+:\d+)$`)
	hint      = regexp.MustCompile(`, run again with the (--allow-\w+) flag`)
)

// unnamed matches the message about a name that a module does not export.
var unnamed = regexp.MustCompile(`^The requested module '([^']+)' does not provide an export named '([\w$]+)'`)

// wrapper matches the frame of the module that Deno makes for a CommonJS file.
var wrapper = regexp.MustCompile(`^\s+at \S+:7:9$`)

// needless matches Deno's list of the schemes that it knows, and a command of its own.
var needless = regexp.MustCompile(`\. Supported schemes:(\n - "[^"\n]*")*|; path-scoped grants \(e\.g\. .* is traversed|\n  hint: If you want to use the npm package, [^\n]*|\. This can occur if either\n 1\. [\s\S]*?/guides/configuration\.?`)

// Bounds of an error's text, which is untrusted.
const (
	maxTrace  = 64 << 10 // bytes
	maxFrames = 200      // lines
)

// explain returns the outcome's error for what was thrown.
func (e *ending) explain(t *thrown) *runners.Error {
	out := &runners.Error{Type: t.kind, Message: needless.ReplaceAllString(deps.Shorten(t.message, maxTrace), "")}
	stack := needless.ReplaceAllString(deps.Shorten(t.stack, maxTrace), "")
	better, ok := deps.Unknown(out.Message)
	if rest, own := strings.CutPrefix(out.Message, `Module not found "`+fileURL(e.work)+"/"); own {
		better, ok = `Module not found "./`+strings.Replace(rest, `".`, `"`, 1), true
	}
	if ok {
		stack = strings.Replace(stack, out.Message, better, 1)
		out.Message = better
	}
	if t.load {
		if m, ok := strings.CutPrefix(out.Message, "SyntaxError: "); ok {
			out.Type, out.Message = "SyntaxError", m
			stack = strings.TrimPrefix(stack, t.kind+": ")
		}
		out.Message = linkPlace.ReplaceAllString(out.Message, "")
	}
	out.Traceback, out.Line = e.traceback(unedited(stack, e.program))
	if at := e.placeOf(t); at.Line > 0 && out.Line == 0 && !strings.Contains(out.Traceback, "\n    at ") {
		out.Traceback, out.Line = fmt.Sprintf("%s\n    at %s:%d:%d", out.Traceback, e.shown, at.Line, at.Column), at.Line
	}
	if t.load && out.Type == "SyntaxError" && !strings.Contains(out.Message, notJSON) {
		out.Message, _, _ = strings.Cut(out.Message, "\n") // the rest shows the place, as the traceback does
	}
	plain := e.clean(hint.ReplaceAllString(out.Message, ""))
	out.Message = e.advised(out.Message, t.message, stack)
	if rest, ok := strings.CutPrefix(out.Traceback, out.Type+": "+plain); ok {
		out.Traceback = out.Type + ": " + out.Message + rest
	}
	return out
}

// advised returns an error's message with what to write instead, or which permission is
// missing. Thrown is the message as it was thrown, and stack has the causes.
func (e *ending) advised(message, thrown, stack string) string {
	way := "the permissions of this server do not include it ($1)"
	if strings.Contains(message, `Requires write access to "/`) {
		way += "; the working directory can be written (paths without / before them), and os.tmpdir()"
	}
	if strings.Contains(message, `net access to "unix:`) {
		way = notUnix
	}
	if strings.Contains(message, `sys access to "homedir"`) && imports(e.program, browsers...) {
		way = noWindow // where its files would be
	}
	message = e.clean(hint.ReplaceAllString(message, "; "+way))
	if m := refusedCause.FindStringSubmatch(stack); m != nil && !strings.Contains(message, "(--allow-") {
		message += "; a cause is that the permissions of this server do not include --allow-" + m[1]
	}
	if !strings.Contains(message, "(--allow-") && !strings.Contains(message, notRun) {
		first, rest, more := strings.Cut(message, "\n")
		if message = first + wayOut(message, e.program); more {
			message += "\n" + rest
		}
	}
	switch {
	case !runRefused.MatchString(message):
	case imports(e.program, "cluster", "node:cluster"):
		message = notRun + "; " + noCluster
	default:
		message += "; " + ownRuns
	}
	if strings.Contains(message, "(--allow-net") && imports(e.program, "msw/node", "nock") {
		message += "; " + noMock
	}
	return message + noServer(thrown)
}

// placeOf returns the place in the program of what has no frames: the await of a promise that
// is never settled or that a package rejects, the throw of what is not an Error or has no
// stack, the start of a Worker that is a text, and the import of what is not there. All but
// the last are known where there is only one.
func (e *ending) placeOf(t *thrown) (at jsparse.Use) {
	m := unnamed.FindStringSubmatch(t.message)
	switch {
	case m != nil:
		if line, column := e.program.ImportPlace(m[1], m[2]); line > 0 {
			return jsparse.Use{Line: line, Column: column}
		}
	case t.message == unresolved:
		if top := e.awaits(); len(top) == 1 {
			return top[0]
		}
	case t.stack == thrownAs+t.message:
		return e.placeOfValue(t)
	case t.stack == t.kind+": "+t.message:
		at = e.placeOfClass(t.kind)
	case e.workers:
		return e.workerPlace(t)
	}
	if top := e.awaits(); at.Line == 0 && t.escaped && !t.load && len(top) == 1 {
		return top[0] // of a package's promise
	}
	return at
}

// placeOfClass returns the place of the throw of a new object of a class.
func (e *ending) placeOfClass(name string) (at jsparse.Use) {
	lines := strings.Split(e.program.Source, "\n")
	throws, _ := jsparse.Uses(e.program.Source, "throw")
	throws = slices.DeleteFunc(throws, func(u jsparse.Use) bool {
		words := strings.Fields(strings.ReplaceAll(lines[u.Line-1], "(", " ( "))
		i := slices.Index(words, name)
		return u.Next != "new" || i < 2 || words[i-1] != "new" || words[i-2] != "throw"
	})
	if len(throws) == 1 {
		return throws[0]
	}
	return at
}

// placeOfValue returns the place of the throw, or of the reject, of what is not an Error.
func (e *ending) placeOfValue(t *thrown) (at jsparse.Use) {
	source := e.program.Source
	throws, _ := jsparse.Uses(source, "throw")
	if top := e.awaits(); t.escaped && len(throws) == 0 && len(top) == 1 {
		return top[0] // of a package's promise
	}
	rejects, _ := jsparse.Uses(source, "reject")
	rejects = slices.DeleteFunc(rejects, func(u jsparse.Use) bool { return u.Next != "(" })
	others := strings.Count(source, "reject(") > len(rejects) || strings.Contains(source, ", reject)") && strings.Count(source, "reject") > 2*len(rejects)
	if all := append(slices.Clip(throws), rejects...); len(all) == 1 && !others && len(e.program.Imports) == 0 {
		return all[0]
	}
	if all := staticReject.FindAllStringIndex(source, 2); len(all) == 1 && len(throws) == 0 && len(rejects) == 0 && len(e.program.Imports) == 0 {
		return useAt(source, all[0][0])
	}
	value, _, _ := strings.Cut(t.message, "; a promise was rejected with it")
	throws = slices.DeleteFunc(throws, func(u jsparse.Use) bool {
		return u.Next != value && !(u.Next == "{" && t.kind == "Object") && strings.Trim(u.Next, "'\"`") != strings.Trim(value, "'\"`")
	})
	if len(throws) == 1 && (t.escaped || len(rejects) == 0 && !others) {
		return throws[0]
	}
	return at
}

// useAt returns the place of an offset.
func useAt(source string, offset int) jsparse.Use {
	before := source[:offset]
	return jsparse.Use{Line: 1 + strings.Count(before, "\n"), Column: offset - strings.LastIndexByte(before, '\n')}
}

// staticReject matches a call that makes a rejected promise.
var staticReject = regexp.MustCompile(`\bPromise\.reject\(`)

// awaits returns where the program awaits at its top level, nil if that is not known.
func (e *ending) awaits() (top []jsparse.Use) {
	all, blocks := jsparse.Uses(e.program.Source, "await")
	top = slices.DeleteFunc(slices.Clone(all), func(u jsparse.Use) bool { return u.Nested })
	if blocks && len(all) > 1 {
		return nil
	}
	return top
}

// thrownAs begins the stack of what is not an Error.
const thrownAs = "Uncaught "

// refusedCause matches a cause of an error. Loaders of native packages catch it and
// blame the installation.
var refusedCause = regexp.MustCompile(`(?m)^Caused by .*\bRequires (\w+) access`)

// traceback reduces a stack to frames in the program's files, with the lines and
// columns of its source. Line is the first one in the program.
func (e *ending) traceback(stack string) (text string, line int) {
	lines := strings.Split(hint.ReplaceAllString(strings.TrimSpace(deps.Shorten(stack, maxTrace)), ""), "\n")
	if len(lines) > maxFrames {
		lines = append(lines[:maxFrames], "    …")
	}
	var kept []string
	for _, l := range lines {
		inside := e.clean(l)
		if frame.MatchString(l) && inside == l {
			continue // Deno's, a package's or ours
		}
		if m := linkPlace.FindStringIndex(l); m != nil && !frame.MatchString(l) {
			// V8 puts the position into the message.
			inside = e.clean(l[:m[0]]) + "\n    at " + e.clean(strings.TrimSpace(l[m[0]:])[len("at "):])
		}
		if wrapper.MatchString(inside) && len(kept) > 0 && strings.Contains(kept[len(kept)-1], " at Object.<anonymous> (") {
			continue // Deno's module around a CommonJS file
		}
		ours := false
		inside = spot.ReplaceAllStringFunc(inside, func(found string) string {
			m := spot.FindStringSubmatch(found)
			at, n, edited := e.at(m[2], m[3], m[4])
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
