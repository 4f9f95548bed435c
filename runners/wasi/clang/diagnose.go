package clang

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"coderunner/internal/machine/memfs"
	"coderunner/runners"
	"coderunner/runners/wasi/guest"
)

const compileError = "CompileError"

// firstError returns the first error of what the tools said, with all that they said.
func firstError(said []byte, file string) *runners.Error {
	e := &runners.Error{Type: compileError, Message: "the compiler ended without a word of why", Traceback: strings.TrimSpace(string(said)), Shown: true}
	for text := range strings.Lines(string(said)) {
		where, message, ok := strings.Cut(strings.TrimSpace(text), "error: ")
		if !ok {
			continue
		}
		e.Message = message
		if _, rest, ok := strings.Cut(message, ".o: "); ok && strings.HasPrefix(message, scratch) { // the linker's
			e.Message = rest
		}
		if name, line := position(where); name == file || path.Base(name) == path.Base(file) {
			e.Line = line
		} else if line > 0 {
			e.Message = fmt.Sprintf("%s:%d: %s", name, line, message)
		}
		break
	}
	return e
}

// position reads FILE:LINE:COLUMN, which words may follow. The line is 0 where there is none.
func position(where string) (file string, line int) {
	file, rest, _ := strings.Cut(where, ":")
	text, _, _ := strings.Cut(rest, ":")
	line, _ = strconv.Atoi(text)
	return file, line
}

// warnings returns the first warning of what the tools said, and how many there are, "" if
// there are none.
func warnings(said []byte) string {
	first, n := "", 0
	for text := range strings.Lines(string(said)) {
		if before, _, ok := strings.Cut(text, "warning: "); ok && before != "" {
			if n++; n == 1 {
				first = runners.ClipLine(strings.TrimSpace(text), 300)
			}
		}
	}
	if n > 1 {
		first += fmt.Sprintf(" (and %d more)", n-1)
	}
	return first
}

// thrown takes what ended a program of C++ from what the runtime of exceptions prints.
func thrown(o *runners.Outcome, _ *memfs.FS, r *guest.Report) {
	_, after, ok := strings.Cut(o.Stderr, "terminate called after throwing an instance of '")
	if ok && r.Error != nil && r.Error.Type == "Trap" {
		kind, rest, _ := strings.Cut(after, "'\n")
		what, _, _ := strings.Cut(strings.TrimPrefix(rest, "  what():  "), "\n")
		r.Error.Type, r.Error.Message = runners.ClipLine(kind, 200), what
	}
}
