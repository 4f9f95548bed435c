package ending

import (
	"fmt"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/stacktrace"
	"coderunner/runners/hint"
)

// maxTrace bounds an error's text, which is untrusted, in bytes.
const maxTrace = 64 << 10

// explain returns the outcome's error for what was thrown.
func (e *Ending) explain(t *thrown) *runners.Error {
	rows := hint.For("javascript")
	out := &runners.Error{Type: t.kind, Message: deps.Shorten(t.message, maxTrace)}
	stack := rows.Cut(deps.Shorten(t.stack, maxTrace))
	better, ok := deps.Unknown(out.Message)
	if rest, own := strings.CutPrefix(out.Message, `Module not found "`+e.Stacks.URL+"/"); own {
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
	out.Traceback, out.Line = e.Stacks.Trace(stacktrace.Unedited(stack, e.Program))
	if at := e.placeOf(t); at.Line > 0 && out.Line == 0 && !strings.Contains(out.Traceback, "\n    at ") {
		out.Traceback, out.Line = fmt.Sprintf("%s\n    at %s:%d:%d", out.Traceback, e.Shown, at.Line, at.Column), at.Line
	}
	if t.load && out.Type == "SyntaxError" && !strings.Contains(out.Message, NotJSON) {
		out.Message, _, _ = strings.Cut(out.Message, "\n") // the rest shows the place, as the traceback does
	}
	out.Message = e.Stacks.Clean(out.Message)
	return out
}

// NotJSON is a part of V8's message about a text that is not JSON.
const NotJSON = "is not valid JSON"

// unresolved is Deno's message about a program that waits for what cannot happen.
const unresolved = "Top-level await promise never resolved"
