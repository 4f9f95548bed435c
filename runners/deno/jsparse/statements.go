package jsparse

import (
	"slices"
	"strings"
)

// statements follows the statements at the top level.
func (a *analysis) statements(t token) {
	switch {
	case t.depth > 0:
		a.grow(t)
	case a.s.is(t, ';'):
		a.begin = true
	case a.prev.kind == none || a.begin || a.starts(t):
		a.last = statement{start: t.start, end: t.end, first: t}
		if a.first.start < 0 {
			a.first = a.last
		}
		a.begin = false
	default:
		a.grow(t)
	}
}

func (a *analysis) grow(t token) {
	if a.last.second.kind == none {
		a.last.second = t
	}
	a.last.end = t.end
	if t.depth == 0 && (t.kind != word && !strings.ContainsAny(a.s.src[t.start:t.start+1], "(){}") || slices.Contains([]string{"throw", "return", "new", "typeof", "void", "delete", "yield"}, a.s.word(t))) {
		a.last.value = true
	}
	switch {
	case t.depth > 0 || a.s.is(t, ')'):
	case a.s.is(t, '=') && a.s.is(a.prev2, '.') && !strings.HasPrefix(a.s.src[t.end:], "="):
		a.last.sets, a.last.call = true, ""
	case a.s.is(t, ','):
		a.last.sets, a.last.call = false, ""
	case a.s.is(t, '(') && a.s.is(a.prev2, '.'):
		a.last.call = a.s.word(a.prev)
	default:
		a.last.call = ""
	}
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
	if a.s.tags && a.s.src[t.start] == '<' {
		return a.s.is(a.prev, '}')
	}
	if t.kind == template || a.s.src[t.start] == '`' {
		return a.s.is(a.prev, '}') && a.ended()
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
		case '[', '(':
			return a.s.is(a.prev, '}') && a.ended()
		case '!':
			return !strings.HasPrefix(a.s.src[t.start:], "!=")
		case '+', '-': // a prefix operator; a single one goes on
			return strings.HasPrefix(a.s.src[t.start+1:], string(c)) || a.s.is(a.prev, '}') && a.ended()
		}
	}
	return false
}

// ended reports whether a brace ends the last statement: it declares a class, a function or
// the like, or has a block and no value outside of brackets.
func (a *analysis) ended() bool {
	first := a.s.word(a.last.first)
	if first == "async" || first == "export" || first == "const" || first == "declare" {
		first = a.s.word(a.last.second)
	}
	switch first {
	case "class", "function", "interface", "enum", "namespace":
		return true
	case "for", "while", "if", "try", "switch":
		return !a.last.value
	}
	return a.s.is(a.last.first, '{') && !a.last.value
}

// edit adds the edits of a main program. It stays CommonJS only if it uses what
// modules do not have and nothing that only they have; Deno would take every
// program for CommonJS that neither imports nor exports.
func (a *analysis) edit(o Options) {
	returned := a.returnsLast()
	if o.Script && a.isScript() {
		a.script(returned)
		return
	}
	if o.CommonJS || a.commonJS.marked() && !a.esm && !returned {
		if hooks := a.commonJS.hooks(a.p.Imports); hooks != "" {
			a.insert(a.p.begins, hooks)
		}
		a.turn()
		return
	}
	a.p.module = true
	begin := a.commonJS.prelude(a.p.Imports)
	if a.meta {
		begin += "import.meta.main=true;"
	}
	a.p.edits = append(a.p.edits, a.commonJS.assigned...)
	expression := returned || a.last.start >= 0 && a.isExpression(a.last)
	if !expression && (!a.linked || len(a.commonJS.assigned) > 0) {
		begin += keepModule
	}
	if begin != "" {
		a.p.edits = slices.Insert(a.p.edits, 0, edit{offset: a.p.begins, text: begin})
	}
	if expression {
		cut := 0
		if returned {
			cut = len("return")
		}
		a.p.edits = append(a.p.edits, edit{offset: a.last.start, cut: cut, text: "const " + resultVariable + "=" + a.valueOf()})
		a.insert(a.last.end, `);export{`+resultVariable+` as "`+ResultName+`"};`)
	}
	a.turn()
}

// mention notes names that are not members' keys: what they stand for takes Deno time.
func (a *analysis) mention(t token) {
	switch a.s.word(t) {
	case "nextTick", "setImmediate", "captureRejections":
		a.p.Turn, a.p.Late = true, true
	case "process", "Buffer", "setTimeout", "setInterval", "fetch", "Response", "Request", "Headers", "Blob", "FormData", "subtle", "structuredClone",
		"readTextFile", "writeTextFile", "readFile", "writeFile", "Intl", "toLocaleString", "toLocaleDateString", "toLocaleTimeString":
		a.p.Late = true
	case "Worker":
		a.p.Workers = true
	case "__filename", "argv", "mainModule", "MainModule":
		a.p.Own = true
	case "meta", "main":
		of := a.s.word(a.prev2)
		a.p.Own = a.p.Own || a.s.is(a.prev, '.') && (of == "import" || of == "require")
	}
	// The file of an earlier call is named after that.
	a.p.Own = a.p.Own || (t.kind == text || t.kind == template || t.kind == mark) && strings.Contains(a.s.src[t.start:t.end], "call_")
}

// turn has the program tell the end of its first turn, if that matters and is its own.
func (a *analysis) turn() {
	if a.p.Turn && !a.awaits && a.last.start >= 0 {
		a.insert(a.last.end, turned)
	}
}

// isScript reports whether Node runs the program as a script that no module needs to be
// made for: it has no syntax of modules, none that is compiled, and exports nothing.
func (a *analysis) isScript() bool {
	return !a.esm && !a.meta && !a.commonJS.awaited && !a.commonJS.needsModule() && !a.p.Tags && !a.p.Decorated && len(a.commonJS.assigned) == 0 && len(a.p.edits) == 0
}

// body returns where a statement may be put before the others: not before "use strict".
func (a *analysis) body() int {
	if first := a.s.src[a.first.start:a.first.end]; first == `"use strict"` || first == `'use strict'` {
		return a.first.end
	}
	return a.p.begins
}

// script adds the edits of a program that is the body of a function. Returned reports
// whether it returns its value itself.
func (a *analysis) script(returned bool) {
	a.p.Script = true
	if a.p.Requires {
		a.insert(a.body(), ";"+resolver(a.p.Imports)+`(require("module"),__coderunner_meta__);`)
	}
	if cut := 0; returned || a.last.start >= 0 && a.isExpression(a.last) {
		if returned {
			cut = len("return")
		}
		a.p.edits = append(a.p.edits, edit{offset: a.last.start, cut: cut, text: giveBack + a.valueOf()})
		a.insert(a.last.end, ")};")
	}
}

// valueOf returns what begins the last expression, which then ends with a parenthesis.
func (a *analysis) valueOf() string {
	if a.written() {
		return `((v)=>typeof v==="object"&&v!==null?v:void 0)(`
	}
	if a.last.sets {
		return "((v)=>{})(" // as in Python: exit codes and handlers are nobody's result
	}
	return "(0," // which keeps a function from being named after the variable
}

// written reports whether the last expression's value is only how much was written,
// or Deno's null of what changed a Storage.
func (a *analysis) written() bool {
	switch a.last.call {
	case "write", "writeSync":
		return true
	case "setItem", "removeItem", "clear":
		return slices.Contains([]string{"localStorage", "sessionStorage"}, a.s.word(a.last.first))
	}
	return false
}

// returnsLast reports whether the program is a module but for a return with a value
// as its last statement, which then is its result.
func (a *analysis) returnsLast() bool {
	c := &a.commonJS
	return c.returned == 1 && !c.exports && !c.uses("module") && !c.uses("exports") && a.s.word(a.last.first) == "return" && a.last.second.kind != none
}

// isExpression reports whether a statement's first tokens can begin an expression.
func (a *analysis) isExpression(st statement) bool {
	if st.first.kind == mark {
		c := a.s.src[st.first.start]
		if strings.HasPrefix(a.s.src[st.first.start:], "-->") {
			return false // a comment of HTML
		}
		if a.s.word(st.second) == "function" && strings.IndexByte("!+-~", c) >= 0 {
			return false // a function is called, whose value nobody wants
		}
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
