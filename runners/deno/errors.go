package deno

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/stacktrace"
	"coderunner/runners/hint"
)

// unnamed matches the message about a name that a module does not export.
var unnamed = regexp.MustCompile(`^The requested module '([^']+)' does not provide an export named '([\w$]+)'`)

// maxTrace bounds an error's text, which is untrusted, in bytes.
const maxTrace = 64 << 10

// explain returns the outcome's error for what was thrown.
func (e *ending) explain(t *thrown) *runners.Error {
	rows := hint.For("javascript")
	out := &runners.Error{Type: t.kind, Message: deps.Shorten(t.message, maxTrace)}
	stack := rows.Cut(deps.Shorten(t.stack, maxTrace))
	better, ok := deps.Unknown(out.Message)
	if rest, own := strings.CutPrefix(out.Message, `Module not found "`+e.stacks.URL+"/"); own {
		better, ok = `Module not found "./`+strings.Replace(rest, `".`, `"`, 1), true
	}
	if ok {
		stack = strings.Replace(stack, rows.Cut(out.Message), rows.Cut(better), 1)
		out.Message = better
	}
	if t.load {
		if m, ok := strings.CutPrefix(out.Message, "SyntaxError: "); ok {
			out.Type, out.Message = "SyntaxError", m
			stack = strings.TrimPrefix(stack, t.kind+": ")
		}
		out.Message = stacktrace.Unlinked(out.Message)
	}
	out.Traceback, out.Line = e.stacks.Trace(stacktrace.Unedited(stack, e.program))
	if at := e.placeOf(t); at.Line > 0 && out.Line == 0 && !strings.Contains(out.Traceback, "\n    at ") {
		out.Traceback, out.Line = fmt.Sprintf("%s\n    at %s:%d:%d", out.Traceback, e.shown, at.Line, at.Column), at.Line
	}
	if t.load && out.Type == "SyntaxError" && !strings.Contains(out.Message, notJSON) {
		out.Message, _, _ = strings.Cut(out.Message, "\n") // the rest shows the place, as the traceback does
	}
	out.Message = e.stacks.Clean(out.Message)
	return out
}

// unresolved is Deno's message about a program that waits for what cannot happen.
const unresolved = "Top-level await promise never resolved"

// newStacks returns what the places in the stacks of a job's program are.
func (j *job) newStacks(in *process.Instance) *stacktrace.Map {
	l := &stacktrace.Map{
		Work: in.Dir.Work(), URL: process.FileURL(in.Dir.Work()), Cache: j.leases.Config.Cache.Root(), Main: j.script, Scripts: map[string]stacktrace.Script{},
	}
	maps.Copy(l.Scripts, j.scripts)
	l.Scripts[j.script] = stacktrace.NewScript(j.shown, j.program)
	return l
}
