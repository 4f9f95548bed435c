package jsparse

import (
	"regexp"
	"slices"
	"strings"
)

// lost finds programs whose functions may be called without their this: a script of
// Node has its global object there, or the exports, and a module has undefined, so that
// this.name throws. It asks for a name that both a function with this has and a use
// that loses it, since CommonJS takes longer.
type lost struct {
	certain bool                // this is used in arrow functions outside of others, or in functions without a name
	users   map[string]struct{} // names of functions and methods that use this
	plain   map[string]struct{} // those of functions
	called  map[string]struct{} // names that are called without an object
	passed  map[string]struct{} // names that are arguments
	read    map[string]struct{} // members that are read and not called, or taken out of an object

	class  int     // 1 more than the depth of a class whose body is to come
	opened []maker // of the parentheses that are open
	closed maker   // of those that were closed last
	scopes []scope // around the token
}

// maker is what may stand before the parameters of a function.
type maker struct {
	name     string
	function bool // it begins with that word
	callback bool // and has no name: an argument, or what another one returns
	other    bool // it is of a getter or a setter, which are seldom called without an object
}

// scope is an open brace of a function with its own this, or of a class.
type scope struct {
	maker
	depth int
	class bool
}

// take follows the next token.
func (l *lost) take(a *analysis, t token, pattern bool) {
	handed := a.s.is(a.prev2, '(') && slices.Contains([]string{"apply", "call", "bind"}, a.s.word(a.prev3))
	if a.s.word(a.prev) == "this" && !a.s.is(a.prev2, '.') && !handed {
		l.uses()
	}
	for n := len(l.scopes); n > 0 && l.scopes[n-1].depth >= t.depth; n-- {
		l.scopes = l.scopes[:n-1]
	}
	l.uncalled(a, t, pattern)
	switch {
	case a.s.word(t) == "class" && !a.s.is(a.prev, '.'):
		l.class = t.depth + 1
	case a.s.word(a.prev) == "class" && a.s.is(t, ':'):
		l.class = 0
	case a.s.is(t, '(') && len(l.opened) < maxNames:
		l.opened = append(l.opened, l.maker(a))
	case a.s.is(t, ')') && len(l.opened) > 0:
		l.closed, l.opened = l.opened[len(l.opened)-1], l.opened[:len(l.opened)-1]
	case !a.s.is(t, '{') || len(l.scopes) >= maxNames:
	case l.class == t.depth+1:
		l.class = 0
		l.scopes = append(l.scopes, scope{depth: t.depth, class: true})
	case a.s.is(a.prev, ')') && !a.prev.header && l.closed.name != "switch" && l.closed.name != "catch":
		l.scopes = append(l.scopes, scope{depth: t.depth, maker: l.closed})
	}
}

// maker returns what stands before a parenthesis.
func (l *lost) maker(a *analysis) maker {
	before, further := a.s.word(a.prev), a.s.word(a.prev2)
	switch {
	case before == "function" && (a.s.is(a.prev2, '=') || a.s.is(a.prev2, ':')):
		return maker{function: true, name: a.s.word(a.prev3)}
	case before == "function":
		return maker{callback: true}
	case further == "function" || a.s.is(a.prev2, '*') && a.s.word(a.prev3) == "function":
		return maker{function: true, name: before}
	case further == "get" || further == "set" || a.s.is(a.prev2, '.'):
		return maker{other: true}
	}
	return maker{name: before}
}

// uses notes whose this is used.
func (l *lost) uses() {
	if slices.ContainsFunc(l.scopes, func(s scope) bool { return s.class }) {
		return // which is strict anyway
	}
	if len(l.scopes) == 0 {
		l.certain = true
		return
	}
	in := l.scopes[len(l.scopes)-1]
	switch {
	case in.other:
	case in.callback:
		l.certain = true
	default:
		note(&l.users, in.name)
		if in.function {
			note(&l.plain, in.name)
		}
	}
}

// uncalled notes a name before the token by how it is used.
func (l *lost) uncalled(a *analysis, t token, pattern bool) {
	name := a.s.word(a.prev)
	switch {
	case name == "" || name == "this":
	case a.s.is(a.prev2, '.'):
		if t.kind == none || a.s.is(t, ';') || a.s.is(t, ')') || a.s.is(t, ',') || a.s.is(t, '}') || a.s.is(t, ']') || t.newline && t.kind == word {
			note(&l.read, name)
		}
	case a.s.is(t, '('):
		if before := a.s.word(a.prev2); before != "function" && before != "new" && !a.s.is(a.prev2, '*') {
			note(&l.called, name)
		}
	case pattern:
		note(&l.read, name)
	case (a.s.is(t, ',') || a.s.is(t, ')')) && (a.s.is(a.prev2, '(') || a.s.is(a.prev2, ',')):
		note(&l.passed, name)
	}
}

// harmless matches the modules that are the same for a script and a module.
var harmless = regexp.MustCompile(`^(?:node:)?(?:assert|events|fs|os|path|perf_hooks|timers|util)(?:/\w+)?$`)

// loses reports whether the program is a script of Node whose functions may lose their
// this, and nothing else depends on how it is run.
func (a *analysis) loses() bool {
	return !a.sloppy.strict && !a.p.Tags && !a.p.Decorated && a.sloppy.lost.found() &&
		!slices.ContainsFunc(a.p.Imports, func(i Import) bool { return !harmless.MatchString(i.Specifier) })
}

// nameless returns a statement that removes the global name, which is "" in Deno and
// undefined in Node, if a function that lost its this may ask for it.
func (a *analysis) nameless() string {
	if a.sloppy == nil || a.sloppy.strict || !strings.Contains(a.s.src, "this.name") || !a.sloppy.lost.found() {
		return ""
	}
	return "delete globalThis.name;"
}

// found reports whether a function may lose its this.
func (l *lost) found() bool {
	if l.certain {
		return true
	}
	for name := range l.users {
		_, function := l.plain[name]
		_, called := l.called[name]
		_, passed := l.passed[name]
		_, read := l.read[name]
		if read || function && (called || passed) {
			return true
		}
	}
	return false
}
