// Package jsparse finds what a JavaScript or TypeScript program imports, and
// where its last expression is, without a parser.
//
// The source is split into tokens, whose neighbours decide what they mean (see
// RATIONALE.md of runners/deno). All functions are pure, need memory in
// proportion to what they find, and accept any input.
//
// # Limits
//
// Tags (JSX), and the few places where a slash may begin a division or a regular
// expression, end the scan. A pattern then finds the imports, perhaps also in
// comments, and the program gets no edits.
package jsparse

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// ResultName is the export with the value of a program's last expression.
	ResultName = "coderunner:result"

	resultVariable = "__coderunner_result__"
)

// Program is a source file with its imports and edits.
type Program struct {
	Source  string
	Imports []Import // in order, each specifier once; MaxImports at most
	Certain bool     // the scan reached the end, so Imports is exact
	edits   []edit   // that export the last value and set import.meta.main

	seen map[string]int // specifier → its index in Imports
}

// Import is a module that a file names.
type Import struct {
	Specifier string
	// Static reports whether the file cannot be loaded without the module: it is
	// not imported by import() or require(), or for its types only.
	Static bool
	// Required reports whether require() imports it.
	Required bool
}

// edit is text to insert. No edit contains the end of a line.
type edit struct {
	offset       int
	text         string
	line, column int // of offset, from 1; 0 until Column needs them
}

// MaxImports bounds the imports of one file.
const MaxImports = 1000

// loose finds imports where the scanner stops, such as in a file with tags. The
// line of a static one begins with import or export, or ends a list of names.
var loose = regexp.MustCompile(`(?m)(^[ \t]*(?:(?:import|export|\})[^\n"']*?)?)?\b(?:from|import)\s*(?:"([^"\\\s]+)"|'([^'\\\s]+)')`)

// Plain returns a program without edits.
func Plain(source string) *Program { return &Program{Source: source} }

// Parse finds the imports of a file that is not the main one.
func Parse(source string) *Program { return parse(source, false, nil) }

// ParseMain finds the imports of a program and prepares its edits. An uncertain
// scan has none. Fetched reports whether the module of a specifier comes from a
// registry, so that require() cannot find it in a directory.
func ParseMain(source string, fetched func(specifier string) bool) *Program {
	return parse(source, true, fetched)
}

func parse(source string, main bool, fetched func(string) bool) *Program {
	p := &Program{Source: source, seen: map[string]int{}}
	s := &scanner{src: source, prev: token{kind: none}}
	a := analysis{s: s, p: p, last: statement{start: -1}}
	for {
		t, err := s.next()
		if err != nil {
			for _, m := range loose.FindAllStringSubmatchIndex(source, MaxImports) {
				at := m[4:6]
				if at[0] < 0 {
					at = m[6:8]
				}
				p.note(Import{Specifier: source[at[0]:at[1]], Static: m[2] >= 0})
			}
			return &Program{Source: source, Imports: p.Imports}
		}
		if t.kind == none {
			break
		}
		a.take(t)
	}
	p.Certain = true
	if main {
		a.edit(fetched)
	}
	return p
}

// analysis follows the tokens of a file.
type analysis struct {
	s     *scanner
	p     *Program
	prev  token // the last three tokens, the newest first
	prev2 token
	prev3 token

	first statement // where the first statement starts
	last  statement
	begin bool // a semicolon ended the last statement
	meta  bool // import.meta.main is used

	called string // the string after import( or require(
	caller string // import or require

	commonJS commonJS
}

// statement is a statement at the top level.
type statement struct {
	start, end int // the end without semicolons
	first      token
	second     token
}

func (a *analysis) take(t token) {
	a.imports(t)
	a.commonJS.take(a, t)
	switch {
	case t.depth > 0:
		a.grow(t)
	case a.s.is(t, ';'):
		a.begin = true
	case a.prev.kind == none || a.begin || a.starts(t):
		a.last = statement{start: t.start, end: t.end, first: t}
		if a.prev.kind == none {
			a.first = a.last
		}
		a.begin = false
	default:
		a.grow(t)
	}
	a.prev, a.prev2, a.prev3 = t, a.prev, a.prev2
}

func (a *analysis) grow(t token) {
	if a.last.second.kind == none {
		a.last.second = t
	}
	a.last.end = t.end
}

// starts reports whether a statement starts at t, a token outside all
// brackets that follows no semicolon. If it is wrong, Deno refuses the edited
// program: see RATIONALE.md.
func (a *analysis) starts(t token) bool {
	typeEnd := a.s.is(a.prev, '>') && !a.s.is(a.prev2, '=') // of let x: Array<string>
	if !a.prev.operand && !typeEnd {
		return false // an operator, or a word such as typeof: more must come
	}
	if !t.newline && !a.s.is(a.prev, '}') {
		return false
	}
	switch t.kind {
	case word:
		switch a.s.word(t) {
		case "in", "instanceof", "as", "satisfies", "of", "from", "extends", "implements":
			return false
		}
		return true
	case number, text:
		return true
	case mark:
		switch c := a.s.src[t.start]; c {
		case '{', '@', '~':
			return true
		case '!':
			return !strings.HasPrefix(a.s.src[t.start:], "!=")
		case '+', '-': // a prefix operator; a single one goes on
			return strings.HasPrefix(a.s.src[t.start+1:], string(c))
		}
	}
	return false
}

// imports adds t to the imports if it is a specifier.
func (a *analysis) imports(t token) {
	if a.s.word(t) == "main" && a.s.is(a.prev, '.') && a.s.word(a.prev2) == "meta" && a.s.is(a.prev3, '.') {
		a.meta = true
	}
	if a.called != "" {
		if a.s.is(t, ')') || a.s.is(t, ',') { // nothing is added to it
			a.p.note(Import{Specifier: a.called, Required: a.caller == "require"})
		}
		a.called = ""
	}
	if t.kind != text {
		return
	}
	before, further := a.prev, a.prev2
	call := a.s.is(before, '(')
	if call {
		before, further = a.prev2, a.prev3
	}
	if a.s.is(further, '.') {
		return // a method of that name
	}
	switch a.s.word(before) {
	case "import":
	case "from":
		if call {
			return
		}
	case "require":
		if !call {
			return
		}
	default:
		return
	}
	spec := a.s.src[t.start+1 : t.end-1]
	if call {
		a.called, a.caller = spec, a.s.word(before)
		return
	}
	a.p.note(Import{Specifier: spec, Static: t.depth == 0 && !a.typesOnly(further)})
}

// typesOnly reports whether the statement is an "import type … from", which the
// compiler removes. Before is the token before "from".
func (a *analysis) typesOnly(before token) bool {
	if a.s.word(a.last.second) != "type" {
		return false
	}
	// In import type from "x", type is what is imported.
	return before.start != a.last.second.start
}

// note adds an import. Specifiers with an escape are left to Deno.
func (p *Program) note(i Import) {
	spec := i.Specifier
	if at, ok := p.seen[spec]; ok {
		have := &p.Imports[at]
		have.Static, have.Required = have.Static || i.Static, have.Required || i.Required
		return
	}
	if spec == "" || strings.ContainsAny(spec, "\\\n\r\x00") || !utf8.ValidString(spec) || len(p.Imports) >= MaxImports {
		return
	}
	p.seen[spec] = len(p.Imports)
	p.Imports = append(p.Imports, i)
}

// edit adds the edits of a main program.
func (a *analysis) edit(fetched func(string) bool) {
	begin := a.commonJS.prelude(a.p.Imports, fetched)
	if a.meta {
		begin += "import.meta.main=true;"
	}
	if begin != "" {
		a.p.edits = append(a.p.edits, edit{offset: a.first.start, text: begin})
	}
	// The zero keeps a function from being named after the variable.
	if a.last.start >= 0 && a.isExpression(a.last) {
		a.p.edits = append(a.p.edits,
			edit{offset: a.last.start, text: "const " + resultVariable + "=(0,"},
			edit{offset: a.last.end, text: `);export{` + resultVariable + ` as "` + ResultName + `"};`})
	}
}

// isExpression reports whether a statement's first tokens can begin an expression.
func (a *analysis) isExpression(st statement) bool {
	if st.first.kind == mark {
		c := a.s.src[st.first.start]
		return c != '{' && c != '@' && c != '}' && c != ')' && c != ']'
	}
	first, second := a.s.word(st.first), a.s.word(st.second)
	switch first {
	case "let", "const", "var", "function", "class", "enum", "if", "for", "while", "do",
		"switch", "try", "throw", "return", "break", "continue", "export", "debugger",
		"with", "else", "case", "default", "finally", "catch":
		return false
	case "import":
		return a.s.is(st.second, '(') || a.s.is(st.second, '.')
	case "async":
		return second != "function"
	case "await":
		return second != "using"
	case "type", "interface", "namespace", "module", "declare", "abstract", "using", "global":
		// Names, unless a name, a string or a block follows.
		return second == "" && st.second.kind != text && !a.s.is(st.second, '{')
	}
	return first == "" || !a.s.is(st.second, ':') // a label
}

// HasEdits reports whether Edited differs from the source.
func (p *Program) HasEdits() bool { return len(p.edits) > 0 }

// Edited returns the program with its edits, none of which adds a line: it exports
// the value of its last expression as ResultName, sets import.meta.main, and
// declares the CommonJS names that it uses.
func (p *Program) Edited() string {
	if len(p.edits) == 0 {
		return p.Source
	}
	var b strings.Builder
	last := 0
	for _, e := range p.edits {
		b.WriteString(p.Source[last:e.offset])
		b.WriteString(e.text)
		last = e.offset
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
			column -= len(e.text)
		}
	}
	return column, false
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
