package deno

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// resultName is the export by which a program hands over the value of its last
// expression, and resultVariable what holds it in the program.
const (
	resultName     = "coderunner:result"
	resultVariable = "__coderunner_result__"
)

// program is what the scan of a source file found.
type program struct {
	source     string
	specifiers []string // of imports, in order, each once
	edits      []edit   // what makes its last value and import.meta.main known
}

// edit is text to insert. No edit contains the end of a line.
type edit struct {
	offset int
	text   string
}

// maxSpecifiers bounds what one file may ask for.
const maxSpecifiers = 500

// loose finds imports where the scanner gives up, such as in a file with
// tags. It may find one in a comment.
var loose = regexp.MustCompile(`\b(?:from|import)\s*(?:"([^"\\\s]+)"|'([^'\\\s]+)')`)

// parse finds the imports of a source file, and, if it is the main one, its
// last expression. It never fails: where it is not certain, it finds no edits.
func parse(source string, main bool) *program {
	p := &program{source: source}
	s := &scanner{src: source, prev: token{kind: none}}
	a := analysis{s: s, p: p, last: statement{start: -1}}
	for {
		t, err := s.next()
		if err != nil {
			for _, m := range loose.FindAllStringSubmatch(source, maxSpecifiers) {
				p.note(m[1] + m[2])
			}
			return &program{source: source, specifiers: p.specifiers}
		}
		if t.kind == none {
			break
		}
		a.take(t)
	}
	if main {
		a.edit()
	}
	return p
}

// analysis follows the tokens of a file.
type analysis struct {
	s     *scanner
	p     *program
	prev  token // the last three tokens, the newest first
	prev2 token
	prev3 token

	first statement // where the first statement starts
	last  statement
	begin bool // a semicolon ended the last statement
	meta  bool // import.meta.main is used

	called string // the string that an import( or require( begins with
	caller string // which of the two

	commonJS commonJS
}

// statement is one at the top level.
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
// brackets that follows no semicolon. It may be wrong in one direction only,
// where Deno then refuses the edited program: see RATIONALE.md.
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

// imports notes t if it is the specifier of an import.
func (a *analysis) imports(t token) {
	if a.s.word(t) == "main" && a.s.is(a.prev, '.') && a.s.word(a.prev2) == "meta" && a.s.is(a.prev3, '.') {
		a.meta = true
	}
	if a.called != "" {
		if a.s.is(t, ')') || a.s.is(t, ',') { // nothing is added to it
			a.p.note(a.called)
			if a.caller == "require" {
				a.commonJS.require(a.called)
			}
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
	a.p.note(spec)
}

// note adds a specifier. One with an escape in it is left to Deno.
func (p *program) note(spec string) {
	if spec == "" || strings.ContainsAny(spec, "\\\n\r\x00") || !utf8.ValidString(spec) ||
		len(p.specifiers) >= maxSpecifiers || slices.Contains(p.specifiers, spec) {
		return
	}
	p.specifiers = append(p.specifiers, spec)
}

// edit adds to the program what makes its result known.
func (a *analysis) edit() {
	begin := a.commonJS.prelude()
	if a.meta {
		begin += "import.meta.main=true;"
	}
	if begin != "" {
		a.p.edits = append(a.p.edits, edit{a.first.start, begin})
	}
	// The zero keeps a function from being named after the variable.
	if a.last.start >= 0 && a.isExpression(a.last) {
		a.p.edits = append(a.p.edits,
			edit{a.last.start, "const " + resultVariable + "=(0,"},
			edit{a.last.end, `);export{` + resultVariable + ` as "` + resultName + `"};`})
	}
}

// isExpression reports whether a statement can be an expression, which its
// first tokens decide.
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

// edited gives the program with its edits.
func (p *program) edited() string {
	if len(p.edits) == 0 {
		return p.source
	}
	var b strings.Builder
	last := 0
	for _, e := range p.edits {
		b.WriteString(p.source[last:e.offset])
		b.WriteString(e.text)
		last = e.offset
	}
	b.WriteString(p.source[last:])
	return b.String()
}

// column turns a column of a line of the edited program, both from 1, as V8
// counts them (in UTF-16 units), into the source's. Ours says that an edit's
// text is there.
func (p *program) column(line, column int) (in int, ours bool) {
	for _, e := range p.edits {
		if l, c := position(p.source, e.offset); l == line && column >= c {
			if column < c+len(e.text) { // the text is ASCII
				return c, true
			}
			column -= len(e.text)
		}
	}
	return column, false
}

// position gives the line and the column of an offset, both from 1.
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

// isPackage reports whether a specifier names something that may have to be
// fetched: not a file of the program and not a part of Deno.
func isPackage(spec string) bool {
	for _, prefix := range []string{"./", "../", "/", "node:", "file:", "data:", "blob:", "ext:", "deno:"} {
		if strings.HasPrefix(spec, prefix) {
			return false
		}
	}
	return spec != "." && spec != ".." && !isBuiltin(spec)
}

// isBuiltin reports whether a bare specifier is one of Node's modules.
func isBuiltin(spec string) bool {
	i := sort.SearchStrings(builtins, spec)
	return i < len(builtins) && builtins[i] == spec
}

// builtins are Node's modules that may be imported without the node: scheme,
// as Deno's node:module lists them in builtinModules. Sorted.
var builtins = []string{
	"assert", "assert/strict", "async_hooks", "buffer", "child_process", "cluster", "console",
	"constants", "crypto", "dgram", "diagnostics_channel", "dns", "dns/promises", "domain",
	"events", "fs", "fs/promises", "http", "http2", "https", "inspector", "inspector/promises",
	"module", "net", "os", "path", "path/posix", "path/win32", "perf_hooks", "process",
	"punycode", "querystring", "readline", "readline/promises", "repl", "stream",
	"stream/consumers", "stream/promises", "stream/web", "string_decoder", "sys", "timers",
	"timers/promises", "tls", "trace_events", "tty", "url", "util", "util/types", "v8", "vm",
	"wasi", "worker_threads", "zlib",
}
