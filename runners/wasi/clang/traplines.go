package clang

import (
	"context"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// lines is the flag for debug information with which traps have lines.
const lines = "-gline-tables-only"

// withLines builds a program once more, with the lines that a trap shows: no other program has to
// wait for them. It returns nil where something else comes of it, as after a source has changed.
func (b *builder) withLines(ctx context.Context, l *line, program []byte) []byte {
	l.compile = append(slices.Clip(l.compile), lines)
	r, err := b.build(ctx, l)
	if err != nil || r.made == nil || !wasmbin.SameCode(r.made, program) {
		return nil
	}
	return r.made
}
