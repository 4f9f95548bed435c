package jsparse

import (
	"regexp"
	"slices"
	"strings"
)

// loose finds imports where the scanner stops. The line of a static one begins
// with import or export, or ends a list of names.
var loose = regexp.MustCompile(`(?m)(^[ \t]*(?:(?:import|export|\})[^\n"']*?)?)?\b(?:from|import)\s*(?:"([^"\\\s]+)"|'([^'\\\s]+)')`)

// Parse finds the imports of a file and prepares its edits. An uncertain scan has
// none.
func Parse(source string, o Options) *Program {
	source = quotedIn(unfenced(source))
	if o.Tags || strings.Contains(source, "</") || strings.Contains(source, "/>") {
		p := parse(source, o, true)
		if p.Certain && p.Tags || o.Tags {
			return p
		}
		if plain := parse(source, o, false); plain.Certain || !p.Tags {
			return plain
		}
		return p // which Deno then says what is wrong with
	}
	return parse(source, o, false)
}

// fence matches a program between Markdown's fences.
var fence = regexp.MustCompile("(?s)^\\s*(```+[\\w+-]*)[ \\t]*\r?\n.*\n[ \\t]*(```+)\\s*$")

// opening matches the fence before a program whose other one was cut off.
var opening = regexp.MustCompile("^\\s*(```+[\\w+-]*)[ \\t]*\r?\n")

// quoted matches a program between fences in a text.
var quoted = regexp.MustCompile("(?ms)^```+(?:js|javascript|mjs|jsx|ts|typescript|tsx|node)?[ \\t]*\r?\n(.*?)^```+[ \\t]*\r?$")

// quotedIn returns a text of Markdown with blanks in place of all that is not in its first
// program between fences, and other texts as they are.
func quotedIn(text string) string {
	m := quoted.FindStringSubmatchIndex(text)
	if m == nil || !isProse(text[:m[0]]) {
		return text
	}
	return strings.Repeat("\n", strings.Count(text[:m[2]], "\n")) + text[m[2]:m[3]]
}

// isProse reports whether no program begins with a text, which ends at the beginning of a
// line: it is blank, or outside of brackets it has two names in a row, or a quote that its
// line does not end.
func isProse(before string) bool {
	s := &scanner{src: before, prev: token{kind: none}}
	for last := (token{}); ; {
		t, err := s.next()
		switch {
		case err != nil:
			return t.kind == text
		case t.kind == none:
			return strings.TrimSpace(before) == ""
		case t.depth == 0 && !t.newline && isName(s.word(last)) && isName(s.word(t)):
			return true
		}
		last = t
	}
}

// keywords are the words beside which a name may stand.
var keywords = strings.Fields("abstract accessor any as asserts async await break case class const continue declare default delete do else enum export extends " +
	"finally for from function get global if implements import in infer instanceof interface is keyof let module namespace new of out override private protected " +
	"public readonly require return satisfies set static switch throw type typeof unique using var void while with yield")

// isName reports whether a word is no keyword.
func isName(w string) bool { return w != "" && !slices.Contains(keywords, w) }

// unfenced returns a source with blanks in place of the fences around it.
func unfenced(source string) string {
	m := fence.FindStringSubmatchIndex(source)
	if m == nil {
		if m = opening.FindStringSubmatchIndex(source); m == nil || strings.Contains(source[m[1]:], "```") {
			return source
		}
	}
	b := []byte(source)
	for at := 2; at < len(m); at += 2 {
		copy(b[m[at]:m[at+1]], strings.Repeat(" ", m[at+1]-m[at]))
	}
	return string(b)
}

func parse(source string, o Options, tags bool) *Program {
	p := &Program{Source: source, seen: map[string]int{}}
	s := &scanner{src: source, prev: token{kind: none}, tags: tags}
	a := analysis{s: s, p: p, first: statement{start: -1}, last: statement{start: -1}}
	if o.Session {
		a.session = &session{object: sessionObject}
	} else if o.Main {
		a.mocking = mayMock(source)
	}
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
			return &Program{Source: source, Imports: p.Imports, Tags: tags}
		}
		a.take(t)
		if t.kind == none {
			break
		}
	}
	p.Certain, p.ESM, p.Tags, p.begins = true, a.esm, s.tagged, len(source)
	if a.first.start >= 0 {
		p.begins = a.first.start
	}
	p.Legacy = p.Legacy || p.Decorated && !p.Standard && legacySignature.MatchString(source)
	if p.Tags {
		a.pragmas()
	}
	if !o.Session && (a.esm || o.Main && !o.CommonJS) {
		a.frameworks(o.Main)
	}
	if a.mocking != nil {
		a.mocking.finish(&a)
	}
	if a.session != nil {
		a.session.finish(&a, o)
	} else if o.Main {
		a.edit(o)
	} else if c := &a.commonJS; a.esm && !c.marked() && (len(c.assigned) > 0 || c.uses("require")) {
		p.edits = append(p.edits, c.assigned...)
		a.form(p.begins, c.prelude(p.Imports))
	}
	slices.SortStableFunc(p.edits, byOffset)
	return p
}

// take follows the next token.
func (a *analysis) take(t token) {
	a.imports(t)
	a.device(t)
	a.names(t)
	a.module(t)
	a.decorators(t)
	a.fields(t)
	a.commonJS.take(a, t)
	a.tests.take(a, t)
	a.mention(t)
	if t.kind != none {
		a.statements(t)
	}
	if a.session != nil {
		a.session.take(a, t)
	}
	if a.mocking != nil {
		a.mocking.take(a, t)
	}
	a.prev, a.prev2, a.prev3 = t, a.prev, a.prev2
}

var (
	sourcePragma  = regexp.MustCompile(`@jsxImportSource\s+([^\s*]+)`)
	classicPragma = regexp.MustCompile(`@jsx(?:Runtime\s+classic|\s+[\w$])`)
)

// pragmas reads the comments before the first statement.
func (a *analysis) pragmas() {
	head := a.p.Source[:a.p.begins]
	if m := sourcePragma.FindStringSubmatch(head); m != nil {
		a.p.TagSource = m[1]
	}
	at := classicPragma.FindStringIndex(head)
	if a.p.Classic = a.p.TagSource == "" && at != nil; a.p.Classic && !strings.Contains(head, "@jsxRuntime") {
		// Without this before it, the pragma is an error where React is the default.
		a.form(max(strings.LastIndex(head[:at[0]], "/*"), 0), "/** @jsxRuntime classic */")
	}
}
