package jsparse

import (
	"regexp"
	"strings"
)

// sloppy finds what programs do that means something else in a module, which is
// strict and has no this: they assign to names that they do not declare, and to what is frozen or has
// only a getter, without an error. Such a program runs as CommonJS, as Node runs it,
// which takes Deno 20 ms longer.
type sloppy struct {
	strict   bool                // it says "use strict"
	this     bool                // it uses this outside of functions
	shown    bool                // a word shows it
	assigned map[string]struct{} // names that are assigned to
	declared map[string]struct{} // names that are declared, and perhaps a few more
	inner    map[string]struct{} // names that are parameters, or that let or const declares in the head of a loop
	heads    map[string]struct{} // names that the head of a loop assigns to
	getters  map[string]struct{} // of properties
	members  map[string]struct{} // that are assigned to

	listing bool    // in the names that let, const or var declares, at depth
	pattern bool    // in the pattern of one
	depth   int     // of the keyword
	parens  []paren // that are open
	closed  paren   // that was closed last

	lost lost
}

// paren is a pair of parentheses, whose names are parameters if a body follows.
type paren struct {
	head  string
	names []string
}

// octal matches numbers that a module does not have.
var octal = regexp.MustCompile(`^0[0-7]+$`)

// freezers matches the packages that freeze what they return.
var freezers = regexp.MustCompile(`^.(?:npm:)?(?:immer|@reduxjs/toolkit|deep-freeze|deep-freeze-es6|seamless-immutable)(?:@|.$)`)

// maxNames bounds the names of each kind, and those between parentheses.
const maxNames = 1000

// note adds a name to a set.
func note(set *map[string]struct{}, name string) {
	if *set == nil {
		*set = map[string]struct{}{}
	}
	if name != "" && len(*set) < maxNames {
		(*set)[name] = struct{}{}
	}
}

// take follows the next token.
func (l *sloppy) take(a *analysis, t token) {
	pattern := l.pattern
	l.declares(a, t)
	l.lost.take(a, t, pattern)
	before := a.s.word(a.prev)
	blocks := a.commonJS.blocks // around the token
	switch {
	case a.s.word(t) == "this" && !a.s.is(a.prev, '.') && (len(blocks) == 0 || blocks[len(blocks)-1].plain):
		l.this = true
	case t.kind == text && a.s.word(a.prev2) == "require" && freezers.MatchString(a.s.src[t.start:t.end]):
		l.shown = true
	case a.prev.kind == text && a.prev2.kind == none:
		l.strict = l.strict || strings.Contains(a.s.src[a.prev.start:a.prev.end], "use strict")
	case a.s.is(t, '!') && a.s.is(a.prev, '<') && strings.HasPrefix(a.s.src[t.end:], "--"): // begins a comment
		l.shown = true
	case t.kind == number && octal.MatchString(a.s.src[t.start:t.end]):
		l.shown = true
	case before == "":
	case a.s.is(t, '[') && before == "arguments": // whose members may be the parameters
		l.shown = true
	case a.s.is(t, '(') && a.s.is(a.prev2, '.'):
		l.shown = l.shown || before == "freeze" || before == "seal" || before == "preventExtensions"
	case a.s.is(t, '(') && before == "with", before == "writable", before == "callee":
		l.shown = true
	case a.s.is(t, '(') && a.s.word(a.prev2) == "get":
		note(&l.getters, before)
	case a.s.is(t, '(') && a.s.word(a.prev2) == "set":
		note(&l.declared, "set "+before)
	case a.s.is(t, '=') && !strings.HasPrefix(a.s.src[t.end:], "="):
		switch {
		case strings.HasPrefix(a.s.src[t.end:], ">"): // a => …
		case a.s.is(a.prev2, '.'):
			note(&l.members, before)
		case a.s.word(a.prev2) == "" && (a.prev.newline || a.prev2.kind == none || strings.IndexByte(";{(,=", a.s.src[a.prev2.start]) >= 0):
			note(&l.assigned, before)
			if a.s.is(a.prev2, '(') && a.s.word(a.prev3) == "for" {
				note(&l.heads, before)
			}
		}
	case (a.s.word(t) == "of" || a.s.word(t) == "in") && a.s.is(a.prev2, '(') && a.s.word(a.prev3) == "for":
		note(&l.assigned, before)
		note(&l.heads, before)
	}
}

// declares notes the names of variables, functions, classes and parameters.
func (l *sloppy) declares(a *analysis, t token) {
	w, before := a.s.word(t), a.s.word(a.prev)
	if w != "" {
		switch before {
		case "let", "const", "var", "function", "class", "import", "as":
			if before != "var" && a.s.is(a.prev2, '(') && a.s.word(a.prev3) == "for" {
				note(&l.inner, w)
			} else {
				note(&l.declared, w)
			}
		}
		if a.s.is(a.prev, '*') && a.s.word(a.prev2) == "function" || l.pattern && t.depth > l.depth || l.listing && t.depth == l.depth && a.s.is(a.prev, ',') {
			note(&l.declared, w)
		}
		if n := len(l.parens); n > 0 && len(l.parens[n-1].names) < maxNames && a.prev.kind == mark && strings.IndexByte("(,{[.:", a.s.src[a.prev.start]) >= 0 {
			l.parens[n-1].names = append(l.parens[n-1].names, w)
		}
	}
	if w == "let" || w == "const" || w == "var" {
		l.listing, l.pattern, l.depth = true, false, t.depth
		return
	}
	if l.listing && (t.depth < l.depth || t.depth == l.depth && a.s.is(t, ';')) {
		l.listing, l.pattern = false, false
	}
	switch c := a.s.src[t.start : t.start+min(1, t.end-t.start)]; {
	case t.kind != mark:
	case (c == "{" || c == "[") && l.listing && t.depth == l.depth && (before == "let" || before == "const" || before == "var" || a.s.is(a.prev, ',')):
		l.pattern = true
	case (c == "}" || c == "]") && l.pattern && t.depth == l.depth:
		l.pattern = false
	case c == "(" && len(l.parens) < maxNames:
		l.parens = append(l.parens, paren{head: before})
	case c == ")" && len(l.parens) > 0:
		l.closed, l.parens = l.parens[len(l.parens)-1], l.parens[:len(l.parens)-1]
		return
	case c == "=" && strings.HasPrefix(a.s.src[t.end:], ">"):
		note(&l.inner, before)
		l.parameters(a)
	case c == "{":
		l.parameters(a)
	}
}

// parameters notes what stands between the parentheses that were just closed.
func (l *sloppy) parameters(a *analysis) {
	if !a.s.is(a.prev, ')') {
		return
	}
	switch l.closed.head {
	case "if", "for", "while", "switch", "with":
		return
	}
	for _, name := range l.closed.names {
		note(&l.inner, name)
	}
}

// found reports whether the program is better run as it is in Node.
func (l *sloppy) found() bool {
	if l.strict || l.shown || l.this {
		return !l.strict || l.this
	}
	for name := range l.getters {
		_, assigned := l.members[name]
		if _, set := l.declared["set "+name]; assigned && !set {
			return true
		}
	}
	for name := range l.assigned {
		_, declared := l.declared[name]
		_, inner := l.inner[name]
		_, head := l.heads[name] // which is seldom in the scope of an inner one
		if !declared && (!inner || head) && len(l.declared) < maxNames && len(l.inner) < maxNames {
			return true
		}
	}
	return false
}
