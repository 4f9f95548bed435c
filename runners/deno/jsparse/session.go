package jsparse

import "strings"

// sessionObject is the global object by which the program of a session imports.
const sessionObject = "__coderunner__"

// maxStatement bounds the tokens kept of a statement.
const maxStatement = 10_000

// take handles a token after the analysis has.
func (s *session) take(a *analysis, t token) {
	switch {
	case a.s.is(t, '(') && a.s.word(a.prev) == "import" && !a.s.is(a.prev2, '.') && a.s.word(a.prev2) != "typeof":
		a.replace(a.prev, sessionObject+".import")
	case a.s.word(t) == "meta" && a.s.is(a.prev, '.') && a.s.word(a.prev2) == "import" && t.end-a.prev2.start == len("import.meta"):
		a.p.edits = append(a.p.edits, edit{offset: a.prev2.start, cut: len("import.meta"), text: sessionObject + ".meta", form: true})
	case a.s.word(a.prev) == "var" && t.kind == word:
		if s.vars == nil {
			s.vars = map[string]int{}
		}
		s.vars[a.s.word(t)]++
	}
	if t.kind == none || t.start == a.last.start {
		s.flush(a)
		s.statement = s.statement[:0]
	}
	if len(s.statement) < maxStatement && (t.depth > 0 || !a.s.is(t, ';')) {
		s.statement = append(s.statement, t)
	}
}

// replace adds an edit of a token.
func (a *analysis) replace(t token, text string) {
	a.p.edits = append(a.p.edits, edit{offset: t.start, cut: t.end - t.start, text: text, form: true})
}

// flush edits the statement that has ended.
func (s *session) flush(a *analysis) {
	w := func(i int) string {
		if i < len(s.statement) {
			return a.s.word(s.statement[i])
		}
		return ""
	}
	at := 0
	if w(0) == "export" {
		switch next := w(1); {
		case next == "default":
			if at = 2; w(2) == "abstract" || w(2) == "class" && w(3) != "" && w(3) != "extends" || s.named(w, 2) != 0 {
				a.replace(s.statement[1], "")
			} else {
				a.replace(s.statement[1], "let __default__=")
			}
			a.replace(s.statement[0], "")
		case len(s.statement) > 1 && (a.s.is(s.statement[1], '{') || a.s.is(s.statement[1], '*')),
			next == "type" && len(s.statement) > 2 && a.s.is(s.statement[2], '{'):
			for _, t := range s.statement {
				a.replace(t, "")
			}
			return
		case next != "" && next != "import":
			at = 1
			a.replace(s.statement[0], "")
		}
	}
	if n := s.named(w, at); n != 0 {
		a.insert(s.statement[n].end, "$fn")
		if name := w(n); len(s.functions) == 0 || s.functions[len(s.functions)-1] != name { // or it is overloaded
			s.functions = append(s.functions, name)
		}
	}
	switch {
	case w(at) == "var" && len(s.statement) > at+1:
		name := w(at + 1)
		for _, t := range s.statement[at+2:] {
			if name != "" && a.s.word(t) == name {
				return // it may be used before it is declared
			}
		}
		s.lets = append(s.lets, lets{s.statement[at], name})
	case w(at) == "const" && w(at+1) != "enum":
		a.replace(s.statement[at], "let")
	case w(0) == "import":
		s.dynamic(a)
	}
}

// named returns the index of a function's name, 0 if the statement's tokens from at
// on declare none.
func (s *session) named(w func(int) string, at int) int {
	if w(at) == "async" {
		at++
	}
	if w(at) != "function" {
		return 0
	}
	if at++; w(at) == "" { // an asterisk, or there is no name
		at++
	}
	if w(at) == "" || w(at-1) == "" && at >= len(s.statement) {
		return 0
	}
	return at
}

// dynamic makes a declaration with import() of a static import:
//
//	import d, { a as b } from "m"  →  let {default:d,  a : b } = await __coderunner__.names("m");
func (s *session) dynamic(a *analysis) {
	t := s.statement
	if len(t) < 2 || a.s.is(t[1], '(') || a.s.is(t[1], '.') {
		return // an expression
	}
	spec := 0
	for i, x := range t {
		if x.kind == text && x.depth == 0 && (i == 1 || a.s.word(t[i-1]) == "from") {
			spec = i
			break
		}
	}
	if spec == 0 || a.s.word(t[1]) == "type" && spec > 3 {
		return // "import x = …", or for types only
	}
	call, end := s.object+".names(", ");"
	if spec == 1 {
		call = s.object + ".import("
		a.replace(t[0], "await ")
	} else {
		a.replace(t[0], "let ")
		a.replace(t[spec-1], "= await ")
		if more := s.bindings(a, t[1:spec-1]); strings.HasPrefix(more, "*") {
			end = ")" + more[1:] + ";"
			if call = s.object + ".import("; s.object == sessionObject {
				call = s.object + ".whole("
			}
		}
	}
	a.insert(t[spec].start, call)
	switch {
	case spec+1 < len(t) && (a.s.word(t[spec+1]) == "with" || a.s.word(t[spec+1]) == "assert"):
		a.replace(t[spec+1], ",{with:")
		a.insert(t[len(t)-1].end, "}"+end)
	case strings.HasSuffix(a.s.src[t[spec].start+1:t[spec].end-1], ".json"):
		a.insert(t[spec].end, `,{with:{type:"json"}}`+end)
	default:
		a.insert(t[spec].end, end)
	}
}

// bindings edits what an import names. The result begins with an asterisk if it is
// the whole module, and goes on with a declaration of its default.
func (s *session) bindings(a *analysis, t []token) (whole string) {
	names := false
	for i, x := range t {
		switch w := a.s.word(x); {
		case x.depth == 0 && a.s.is(x, '{'):
			names = true
			if i > 0 {
				a.replace(x, "")
			}
		case x.depth == 0 && a.s.is(x, '*'):
			a.replace(x, "")
			whole = "*"
		case w == "as" && x.depth == 0:
			a.replace(x, "")
		case w == "as" && i+1 < len(t) && !a.s.is(t[i-1], '{') && !a.s.is(t[i-1], ',') && a.s.word(t[i+1]) != "":
			a.replace(x, ":")
		case w == "type" && x.depth == 1 && i+1 < len(t) && a.s.word(t[i+1]) != "" && a.s.word(t[i+1]) != "as":
			a.replace(x, "")
		}
	}
	if first := a.s.word(t[0]); first != "" { // the default
		switch {
		case len(t) == 1: // the name keeps its place, for the error if there is none
			a.insert(t[0].start, "{default:")
			a.insert(t[0].end, "}")
		case names:
			a.insert(t[0].start, "{default:")
		default:
			a.replace(t[0], "")
			a.replace(t[1], "")
			whole += ",{default:" + first + "}=" + a.s.word(t[len(t)-1])
		}
	}
	return whole
}

// finish adds the edits before the first statement.
func (s *session) finish(a *analysis, o Options) {
	begin := ""
	if a.esm || !a.commonJS.marked() && !o.Script {
		begin = `"use strict";`
	}
	for _, name := range s.functions {
		begin += "let " + name + "=" + sessionObject + ".named(" + name + "$fn," + `"` + name + `");`
	}
	prelude := strings.Replace(a.commonJS.prelude(a.p.Imports), importModule, `const __coderunner_module__=(await import("node:module")).default;`, 1)
	prelude = strings.ReplaceAll(prelude, "import.meta", sessionObject+".meta")
	begin += strings.ReplaceAll(prelude, "const ", "let ")
	for _, v := range s.lets {
		if s.vars[v.name] <= 1 {
			a.replace(v.keyword, "let")
		}
	}
	a.p.edits = append([]edit{{offset: a.p.begins, text: begin}}, append(a.p.edits, a.commonJS.assigned...)...)
	a.p.named = nil
	if a.last.start >= 0 && a.isExpression(a.last) {
		a.p.Value = true
		a.p.Written = a.written()
	}
}
