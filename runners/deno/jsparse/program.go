// Package jsparse finds what a JavaScript or TypeScript program imports, what it
// needs of Deno, and where its last expression is, without a parser.
//
// The source is split into tokens, whose neighbours decide what they mean (see
// RATIONALE.md of runners/deno), which has this as its first station, analyse.
// All functions are pure, need memory in proportion to what they find, and accept
// any input.
//
// # Limits
//
// The scan ends at the few places where a slash may begin a division or a regular
// expression. A pattern then finds the imports, perhaps also in comments, and the program
// gets no edits.
package jsparse

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"coderunner/internal/order"
)

const (
	// ResultName is the export with the value of a program's last expression.
	ResultName = "coderunner:result"

	resultVariable = "__coderunner_result__"

	// giveBack returns the value of a program that is a script.
	giveBack = `return{[Symbol.for("` + ResultName + `")]:`

	keepModule = "export{};"

	// turned is called at the end of a program's first turn.
	turned = `;globalThis[Symbol.for("coderunner:turned")]?.();`
)

// Program is a source file with its imports and edits.
type Program struct {
	Source  string
	Imports []Import // in order, each specifier once; MaxImports at most
	Certain bool     // the scan reached the end, so Imports is exact

	ESM       bool   // it imports, exports or awaits at the top level
	Script    bool   // Node runs it as a script, and so may Deno: see Edited
	Turn      bool   // it names process.nextTick, setImmediate or captureRejections
	Workers   bool   // it names Worker
	Late      bool   // it names what Deno loads when something first uses it, such as process and timers
	Own       bool   // it may look for its own file: others do without one, since V8 gets their text
	Requires  bool   // it uses require, which Node's scripts have
	Tags      bool   // it has tags (JSX)
	TagSource string // the package whose functions its pragma names for tags, or ""
	Classic   bool   // a pragma names a function for tags instead
	Decorated bool   // it has decorators
	Legacy    bool   // it shows that these are from before the standard
	Target    bool   // it uses names that are usual in those, and in some of the standard's
	Standard  bool   // it uses names that are usual in the standard's only

	// Of a session's program, whose edits leave its value where it is: whether it
	// ends with an expression, and with one that returns how much was written.
	Value, Written bool

	begins  int  // where its first statement begins, or its end
	module  bool // it is a module, whether or not its text shows that
	edits   []edit
	fields  []edit // of decorated fields without a value, see Declared
	named   []named
	clauses []clause
	seen    map[string]int // specifier → its index in Imports
}

// Import is a module that a file names.
type Import struct {
	Specifier string
	// Static reports whether the file cannot be loaded without the module: it is
	// not imported by import() or require(), or for its types only.
	Static bool
	// Required reports whether require() imports it.
	Required bool
	// Late reports whether the first static import of it comes after another: among the
	// static ones its place is a later one.
	Late bool
}

// Options are how to read a file.
type Options struct {
	// Main reports whether it is the program, whose value is wanted.
	Main bool
	// Session reports whether it is a program of a session, for V8's REPL mode.
	Session bool
	// Tags reports whether a < before an operand begins a tag, as in .jsx and
	// .tsx. Otherwise that is so if the whole file can be read like that.
	Tags bool
	// CommonJS reports whether it is never a module, as .cjs.
	CommonJS bool
	// Script reports whether Node takes it for a script unless its text is a module's, as .js.
	Script bool
}

// edit is text to insert, after removing some. No edit contains the end of a line.
type edit struct {
	offset, cut  int
	text         string
	form         bool // Deno needs it to read the program
	line, column int  // of offset, from 1; 0 until Column needs them
}

// named is an import of names: import { a, b as c } from "d", perhaps with one for
// all before the brace, or import * as a from "d". Deno knows no names of JSON, and of
// CommonJS only those that a module's text shows.
type named struct {
	specifier string
	start     token // import
	all       token // the name for all, if any
	brace     token // the closing one
	from      token
	text      token    // the specifier
	words     []edit   // of "as" and "type"
	names     []string // that are no types, as the module has them
	whole     bool     // it is one of all names by one
}

// clause is what a static import binds.
type clause struct {
	specifier string
	names     []Name
}

func byOffset(a, b edit) int { return cmp.Compare(a.offset, b.offset) }

// MaxImports bounds the imports of one file.
const MaxImports = 1000

// Plain returns a program without edits.
func Plain(source string) *Program { return &Program{Source: source} }

// Valueless returns the program as a module without the edits for its value and names,
// nil if it is that already.
func (p *Program) Valueless() *Program {
	plain := &Program{Source: p.Source}
	if p.module || p.Script {
		plain.edits = []edit{{offset: p.begins, text: keepModule}}
	}
	more := false
	for _, e := range p.edits {
		if e.form {
			plain.edits = append(plain.edits, e)
		}
		more = more || !e.form && e.text != keepModule
	}
	if !more && !p.Script {
		return nil
	}
	order.Stably(plain.edits, byOffset)
	return plain
}

// note adds an import. Specifiers with an escape are left to Deno.
func (p *Program) note(i Import) {
	spec := i.Specifier
	if at, ok := p.seen[spec]; ok {
		have := &p.Imports[at]
		have.Late = have.Late || i.Static && !have.Static
		have.Static, have.Required = have.Static || i.Static, have.Required || i.Required
		return
	}
	if spec == "" || strings.ContainsAny(spec, "\\\n\r\x00") || !utf8.ValidString(spec) || len(p.Imports) >= MaxImports {
		return
	}
	p.seen[spec] = len(p.Imports)
	p.Imports = append(p.Imports, i)
}

// Text returns what the file of the program has: the edits of a script are for the function
// alone.
func (p *Program) Text() string {
	if p.Script {
		return p.Source
	}
	return p.Edited()
}

// HasEdits reports whether Edited differs from the source.
func (p *Program) HasEdits() bool { return len(p.edits) > 0 }

// Edited returns the program with its edits, none of which adds a line: it imports
// JSON as such, and if it is the main one exports the value of its last expression
// as ResultName, sets import.meta.main, and declares the CommonJS names that it uses.
// A script is the body of a function, which returns an object with that value: its file is
// as it was written.
func (p *Program) Edited() string {
	if len(p.edits) == 0 {
		return p.Source
	}
	var b strings.Builder
	last := 0
	for _, e := range p.edits {
		b.WriteString(p.Source[last:e.offset])
		b.WriteString(e.text)
		last = e.offset + e.cut
	}
	b.WriteString(p.Source[last:])
	return b.String()
}

// Column maps a column of the edited program to the source's. Lines and columns
// count from 1, columns in UTF-16 units as V8's. Ours reports whether the text
// there is an edit.
func (p *Program) Column(line, column int) (in int, ours bool) {
	for i := range p.edits {
		e := &p.edits[i]
		if e.line == 0 {
			e.line, e.column = position(p.Source, e.offset)
		}
		if e.line == line && column >= e.column {
			if column < e.column+len(e.text) { // the text is ASCII
				return e.column, true
			}
			column -= len(e.text) - e.cut
		}
	}
	return column, false
}

// Lines returns the number of lines of the source, as V8 counts them.
func (p *Program) Lines() int {
	line, _ := position(p.Source, len(p.Source))
	return line
}

// position returns the line and the column of an offset, both from 1.
func position(source string, offset int) (line, column int) {
	line = 1
	start := 0
	for i, r := range source[:offset] {
		if lineEnd(r) && !(r == '\r' && i+1 < len(source) && source[i+1] == '\n') {
			line++
			start = i + utf8.RuneLen(r)
		}
	}
	column = 1
	for _, r := range source[start:offset] {
		column++
		if r > 0xffff {
			column++
		}
	}
	return line, column
}
