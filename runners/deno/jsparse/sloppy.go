package jsparse

import (
	"regexp"
	"slices"
	"strings"
)

// sloppy finds what programs do that means something else in a module, which is
// strict and has no this: they assign to names that they do not declare, and to what is frozen or has
// only a getter, without an error. Such a program runs as CommonJS, as Node runs it,
// which takes Deno 20 ms longer.
type sloppy struct {
	strict   bool     // it says "use strict"
	shown    bool     // a word shows it
	assigned []string // names without a keyword before them
	declared []string // names with one
	getters  []string // of properties
	setters  []string // of properties, and what is assigned to them
	members  []string // that are assigned to
}

// Bounds of the names of each kind, and of those whose declaration is looked for.
const (
	maxNames = 200
	maxLooks = 10
)

// maxSloppy is the length of a program in which declarations are looked for, in bytes:
// what is longer came out of a bundler, or is there to take our time.
const maxSloppy = 128 << 10

// take follows the next token.
func (l *sloppy) take(a *analysis, t token) {
	before := a.s.word(a.prev)
	note := func(list *[]string, name string) {
		if len(*list) < maxNames && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	blocks := a.commonJS.blocks // around the token
	switch {
	case a.s.word(t) == "this" && !a.s.is(a.prev, '.') && (len(blocks) == 0 || blocks[len(blocks)-1].plain):
		l.shown = true
	case t.kind == word && (before == "let" || before == "const" || before == "var"):
		note(&l.declared, a.s.word(t))
	case a.prev.kind == text && a.prev2.kind == none:
		l.strict = l.strict || strings.Contains(a.s.src[a.prev.start:a.prev.end], "use strict")
	case a.s.is(t, '!') && a.s.is(a.prev, '<') && strings.HasPrefix(a.s.src[t.end:], "--"): // begins a comment
		l.shown = true
	case before == "" || a.prev.kind != word:
	case a.s.is(t, '(') && a.s.is(a.prev2, '.'):
		l.shown = l.shown || before == "freeze" || before == "seal" || before == "preventExtensions"
	case a.s.is(t, '(') && (before == "with" || a.s.word(a.prev2) == "get"):
		l.shown = l.shown || before == "with"
		if before != "with" {
			note(&l.getters, before)
		}
	case a.s.is(t, '(') && a.s.word(a.prev2) == "set":
		note(&l.setters, before)
	case before == "writable" || before == "callee":
		l.shown = true
	case a.s.is(t, '=') && !strings.HasPrefix(a.s.src[t.end:], "=") && !strings.HasPrefix(a.s.src[t.end:], ">"):
		if a.s.is(a.prev2, '.') {
			note(&l.members, before)
		} else if a.s.word(a.prev2) == "" && (a.prev.newline || a.prev2.kind == none || strings.IndexByte(";{(,=", a.s.src[a.prev2.start]) >= 0) {
			note(&l.assigned, before)
		}
	case (a.s.word(t) == "of" || a.s.word(t) == "in") && a.s.is(a.prev2, '(') && a.s.word(a.prev3) == "for":
		note(&l.assigned, before)
	}
}

// found reports whether the program is better run as it is in Node.
func (l *sloppy) found(source string) bool {
	if l.strict || len(source) > maxSloppy {
		return false
	}
	unknown := slices.DeleteFunc(l.assigned, func(name string) bool { return slices.Contains(l.declared, name) })
	return l.shown || slices.ContainsFunc(l.getters, func(name string) bool {
		return slices.Contains(l.members, name) && !slices.Contains(l.setters, name)
	}) || slices.ContainsFunc(unknown[:min(len(unknown), maxLooks)], func(name string) bool { return !declares(source, name) })
}

// declares reports whether a program may declare a name, as a variable or a parameter.
func declares(source, name string) bool {
	n := `(?:^|[^\w$.])` + regexp.QuoteMeta(name) + `(?:$|[^\w$])`
	declared := regexp.MustCompile(`(?m)\b(?:let|const|var)\b(?:[^;=\n]*|\s*[\[{][^;=]*|[^;]*,\s*)` + n +
		`|\b(?:function\*?|class|import|as)\s+` + regexp.QuoteMeta(name) + `\b` +
		`|` + n + `[ \t]*=>`)
	if declared.MatchString(source) {
		return true
	}
	heads := regexp.MustCompile(`(\b(?:if|for|while|switch|with)\s*)?\((?:[^()]*[^\w$.()])?` + regexp.QuoteMeta(name) + `(?:[^\w$()][^()]*)?\)\s*(?:=>|\{)`)
	for _, m := range heads.FindAllStringSubmatch(source, -1) {
		if m[1] == "" {
			return true
		}
	}
	return false
}
