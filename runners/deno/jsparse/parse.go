package jsparse

import (
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/order"
)

// loose finds imports where the scanner stops. The line of a static one begins
// with import or export, or ends a list of names.
var loose = lazyregexp.New(`(?m)(^[ \t]*(?:(?:import|export|\})[^\n"']*?)?)?\b(?:from|import)\s*(?:"([^"\\\s]+)"|'([^'\\\s]+)')`)

// Parse finds the imports of a file and prepares its edits. An uncertain scan has
// none.
func Parse(source string, o Options) *Program {
	source = quotedIn(unfenced(source))
	if o.Tags || hasTags(source) {
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

// quotedIn returns a text of Markdown with blanks in place of all that is not in its first
// program between fences, and other texts as they are.
func quotedIn(text string) string {
	offset, begin, before := 0, 0, 0
	inside, other := false, false
	for line := range strings.Lines(text) {
		info, ok := fence(line)
		switch {
		case ok && inside && info == "":
			if !isProse(text[:before]) {
				return text
			}
			return strings.Repeat("\n", strings.Count(text[:begin], "\n")) + text[begin:offset]
		case ok && other:
			other = info != ""
		case ok && !inside:
			inside = slices.Contains(languages, info)
			other, before, begin = !inside, offset, offset+len(line)
		}
		offset += len(line)
	}
	return text
}

// languages are what the fences of programs say.
var languages = []string{"", "js", "javascript", "mjs", "jsx", "ts", "typescript", "tsx", "node"}

// fence returns the language that a fence of Markdown says, and reports whether the line is one.
func fence(line string) (info string, ok bool) {
	line = strings.TrimRight(line, " \t\r\n")
	info = strings.TrimLeft(line, "`")
	named := !strings.ContainsFunc(info, func(r rune) bool { return !letter(byte(r)) && !digit(byte(r)) && r != '+' && r != '-' })
	return info, len(line)-len(info) >= 3 && named
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

// unfenced returns a source with blanks in place of the fences around it, of which the second
// may have been cut off.
func unfenced(source string) string {
	begin := len(source) - len(strings.TrimLeft(source, " \t\r\n"))
	first, rest, more := strings.Cut(source[begin:], "\n")
	if _, ok := fence(first); !ok || !more {
		return source
	}
	blank := func(text string) string { return strings.Repeat(" ", len(text)) }
	body := strings.TrimRight(rest, " \t\r\n")
	last := strings.LastIndexByte(body, '\n') + 1
	info, closed := fence(strings.TrimLeft(body[last:], " \t"))
	switch {
	case closed && info == "" && last > 0:
		rest = rest[:last] + blank(body[last:]) + rest[len(body):]
	case strings.Contains(rest, "```"):
		return source
	}
	return source[:begin] + blank(strings.TrimRight(first, "\r")) + first[len(strings.TrimRight(first, "\r")):] + "\n" + rest
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
			return &Program{Source: source, Imports: p.Imports, Tags: tags, Own: true}
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
	p.Requires = a.commonJS.uses("require")
	p.Legacy = p.Legacy || p.Decorated && !p.Standard && len(Scan(source).find(legacySignature...)) > 0
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
	order.Stably(p.edits, byOffset)
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

// pragmas reads the comments before the first statement.
func (a *analysis) pragmas() {
	head := a.p.Source[:a.p.begins]
	words := append(strings.Fields(head), "")
	for i, w := range words[:len(words)-1] {
		next, _, _ := strings.Cut(words[i+1], "*")
		switch {
		case strings.HasSuffix(w, "@jsxImportSource"):
			a.p.TagSource = next
		case strings.HasSuffix(w, "@jsxRuntime") && next == "classic", strings.HasSuffix(w, "@jsx") && next != "":
			a.p.Classic = true
		}
	}
	if a.p.Classic = a.p.Classic && a.p.TagSource == ""; a.p.Classic && !strings.Contains(head, "@jsxRuntime") {
		// Without this before it, the pragma is an error where React is the default.
		a.form(max(strings.LastIndex(head[:strings.Index(head, "@jsx")], "/*"), 0), "/** @jsxRuntime classic */")
	}
}
