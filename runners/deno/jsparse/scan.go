package jsparse

import (
	"slices"
	"strings"
)

// Text is a program's text as tokens, for questions that few programs raise. It ends where
// the tokens cannot be told apart.
type Text struct {
	*scanner
	all []token
}

// Scan splits a source into tokens.
func Scan(source string) *Text {
	x := scan(source, false)
	if x.pos < len(source) && hasTags(source) {
		if tagged := scan(source, true); tagged.pos > x.pos {
			return tagged
		}
	}
	return x
}

func scan(source string, tags bool) *Text {
	x := &Text{scanner: &scanner{src: source, prev: token{kind: none}, tags: tags}}
	for {
		t, err := x.next()
		if err != nil || t.kind == none {
			return x
		}
		x.all = append(x.all, t)
	}
}

// hasTags reports whether a source may have tags.
func hasTags(source string) bool {
	return strings.Contains(source, "</") || strings.Contains(source, "/>")
}

// at returns a token, one of kind none outside of the text.
func (x *Text) at(i int) token {
	if i < 0 || i >= len(x.all) {
		return token{}
	}
	return x.all[i]
}

func (x *Text) text(t token) string { return x.src[t.start:t.end] }

// literal returns what a string, or a template without expressions, has between its quotes.
func (x *Text) literal(t token) (string, bool) {
	if t.kind == text || t.kind == template && x.src[t.start] == '`' {
		return x.src[t.start+1 : t.end-1], true
	}
	return "", false
}

// Literal is a string of a program, or a template without expressions.
type Literal struct {
	Text string
	Line int
}

// Literals returns the strings that want is true for.
func (x *Text) Literals(want func(text string) bool) (all []Literal) {
	for _, t := range x.all {
		if s, ok := x.literal(t); ok && want(s) {
			line, _ := position(x.src, t.start)
			all = append(all, Literal{s, line})
		}
	}
	return all
}

// Use is where a program has some tokens.
type Use struct {
	Line, Column int
	Nested       bool   // it is in brackets
	Next         string // the token after them
}

// Find returns where tokens follow one another: each is one of some words or marks, as
// "string|number", or any word, "". A member's name is not the first of them.
func (x *Text) Find(form ...string) (uses []Use) {
	for _, i := range x.find(form...) {
		line, column := position(x.src, x.all[i].start)
		uses = append(uses, Use{line, column, x.all[i].depth > 0, x.text(x.at(i + len(form)))})
	}
	return uses
}

// find returns the indices of the first of the tokens.
func (x *Text) find(form ...string) (found []int) {
	for i := range x.all {
		match := len(found) < MaxImports && !x.is(x.at(i-1), '.')
		for n, f := range form {
			t := x.at(i + n)
			match = match && t.kind != none && (f == "" && t.kind == word || f != "" && slices.Contains(strings.Split(f, "|"), x.text(t)))
		}
		if match {
			found = append(found, i)
		}
	}
	return found
}

// Loops returns the lines of the loops that are not over what there is.
func (x *Text) Loops() (lines []int) {
	for _, i := range x.find("for|while") {
		head := i + 1
		if x.word(x.at(head)) == "await" {
			head++
		}
		over := false
		for n := head + 1; x.at(n).depth > x.at(head).depth && !x.is(x.at(n), ';'); n++ {
			w := x.word(x.at(n))
			over = over || x.at(n).depth == x.at(head).depth+1 && (w == "of" || w == "in")
		}
		if line, _ := position(x.src, x.all[i].start); !over || x.word(x.all[i]) == "while" {
			lines = append(lines, line)
		}
	}
	return slices.Compact(lines)
}

// onlyMembers reports whether a name is neither called, made, extended nor handed on.
func (x *Text) onlyMembers(name string) bool {
	return !slices.ContainsFunc(x.find(name), func(i int) bool {
		next, before := x.at(i+1), x.word(x.at(i-1))
		made := (before == "new" || before == "extends") && !x.is(next, '.')
		return made || next.kind == none || next.kind == template || next.kind == mark && strings.ContainsRune("(`,;)]}", rune(x.src[next.start]))
	})
}

// declares reports whether the program may declare a name, or assign to it. A key or a
// parameter of the name does not.
func (x *Text) declares(name string) bool {
	for i, t := range x.all {
		if x.word(t) != name {
			continue
		}
		if next := x.at(i + 1); x.is(next, '=') && !strings.ContainsAny(x.src[next.end:min(next.end+1, len(x.src))], "=>") {
			return true
		}
		for i--; i >= 0 && x.all[i].kind != text && !strings.ContainsAny(x.text(x.all[i])[:1], ";()=`"); i-- {
			switch x.word(x.all[i]) {
			case "const", "let", "var", "function", "class", "import":
				return true
			}
		}
	}
	return false
}
