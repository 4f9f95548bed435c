// Package glob matches the patterns of a shell: those of case, [[ == ]], ${x#…} and file
// names, and those that find, grep, tar and others call globs. Quoted characters of a
// pattern have backslashes.
package glob

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pattern is a compiled pattern. A match is a walk of sets of positions, so its
// time is polynomial whatever the pattern is; extended operators need no
// backtracking. Where the context ends meanwhile, nothing matches.
type Pattern []element

// element is one step of a pattern.
type element struct {
	kind elementKind
	lit  rune
	set  *bracket
	op   byte // of a group: ? * + @ !
	alts []Pattern
}

type elementKind uint8

const (
	literal elementKind = iota
	anyRune
	anyRunes
	oneOf
	group
)

// PatternCost is how many bytes of memory a byte of a pattern's text takes while it is
// compiled, at most: an element of 48, and what its list has left behind.
const PatternCost = 3 * 48

// maxPatternDepth bounds the nesting of extended operators.
const maxPatternDepth = 50

// Match reports whether a pattern without extended operators matches all of
// name. "*" and "?" match slashes and leading dots, too, as fnmatch(3) does
// without flags.
func Match(pattern, name string) bool {
	return Compile(pattern, false).Match(context.Background(), name, false)
}

// MatchBase reports whether a pattern matches a path or its last component.
func MatchBase(pattern, name string) bool {
	p := Compile(pattern, false)
	return p.Match(context.Background(), path.Base(name), false) || p.Match(context.Background(), name, false)
}

// HasMeta reports whether text is more than a literal.
func HasMeta(text string, ext bool) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if strings.Contains(text[i+1:], "]") { // else it is the command's name, or text
				return true
			}
		case '+', '@', '!':
			if ext && i+1 < len(text) && text[i+1] == '(' {
				return true
			}
		}
	}
	return false
}

// Unescape removes the backslashes of a pattern that is a literal.
func Unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Compile compiles a pattern, with bash's extended operators such as @(a|b) if
// ext is set.
func Compile(text string, ext bool) Pattern { return compileAt(text, ext, 0) }

func compileAt(text string, ext bool, depth int) Pattern {
	var p Pattern
	for i := 0; i < len(text); {
		c := text[i]
		if strings.IndexByte("?*+@!", c) >= 0 && ext && i+1 < len(text) && text[i+1] == '(' && depth < maxPatternDepth {
			if alts, n := alternatives(text[i+2:]); n > 0 {
				e := element{kind: group, op: c}
				for _, a := range alts {
					e.alts = append(e.alts, compileAt(a, ext, depth+1))
				}
				p, i = append(p, e), i+2+n
				continue
			}
		}
		switch c {
		case '*':
			if len(p) == 0 || p[len(p)-1].kind != anyRunes {
				p = append(p, element{kind: anyRunes})
			}
			i++
			continue
		case '?':
			p, i = append(p, element{kind: anyRune}), i+1
			continue
		case '[':
			if set, n := parseBracket(text[i:]); n > 0 {
				p, i = append(p, element{kind: oneOf, set: set}), i+n
				continue
			}
		case '\\':
			if i+1 < len(text) {
				i++
			}
		}
		r, size := DecodeRune(text[i:])
		p, i = append(p, element{kind: literal, lit: r}), i+size
	}
	return p
}

// DecodeRune is [utf8.DecodeRuneInString] with a rune of its own for each byte that is
// not UTF-8, so that such bytes match themselves alone.
func DecodeRune(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return unicode.MaxRune + 1 + rune(s[0]), 1
	}
	return r, size
}

func decodeLast(s string) (rune, int) {
	r, size := utf8.DecodeLastRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return unicode.MaxRune + 1 + rune(s[len(s)-1]), 1
	}
	return r, size
}

// alternatives splits what is behind an extended operator's parenthesis at its
// bars, and returns the length up to and with the closing one, 0 without one.
func alternatives(text string) (alts []string, n int) {
	depth, start := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			if _, n := parseBracket(text[i:]); n > 0 {
				i += n - 1
			}
		case '(':
			depth++
		case '|':
			if depth == 0 {
				alts, start = append(alts, text[start:i]), i+1
			}
		case ')':
			if depth == 0 {
				return append(alts, text[start:i]), i + 1
			}
			depth--
		}
	}
	return nil, 0
}

// matcher is one match of a text.
type matcher struct {
	ctx  context.Context
	s    string
	back bool // from the end to the start
	fold bool
}

// Match reports whether all of s matches, or does so but for case if fold is set.
func (p Pattern) Match(ctx context.Context, s string, fold bool) bool {
	if lit, ok := p.Literal(); ok && !fold {
		return lit == s
	}
	ends := (&matcher{ctx: ctx, s: s, fold: fold}).run(p, []int{0})
	return len(ends) > 0 && ends[len(ends)-1] == len(s)
}

// Literal returns the text of a pattern that is one.
func (p Pattern) Literal() (string, bool) {
	var b strings.Builder
	for _, e := range p {
		if e.kind != literal {
			return "", false
		}
		if e.lit > unicode.MaxRune {
			b.WriteByte(byte(e.lit - unicode.MaxRune - 1))
		} else {
			b.WriteRune(e.lit)
		}
	}
	return b.String(), true
}

// Prefix returns the length of the shortest or longest prefix that matches, -1
// without one.
func (p Pattern) Prefix(ctx context.Context, s string, longest bool) int {
	ends := (&matcher{ctx: ctx, s: s}).run(p, []int{0})
	switch {
	case len(ends) == 0:
		return -1
	case longest:
		return ends[len(ends)-1]
	}
	return ends[0]
}

// Suffix is [Pattern.Prefix] for suffixes.
func (p Pattern) Suffix(ctx context.Context, s string, longest bool) int {
	starts := (&matcher{ctx: ctx, s: s, back: true}).run(p, []int{len(s)})
	switch {
	case len(starts) == 0:
		return -1
	case longest:
		return len(s) - starts[0]
	}
	return len(s) - starts[len(starts)-1]
}

// run returns the positions that p leads to from the positions at, both sorted.
func (m *matcher) run(p Pattern, at []int) []int {
	for i := range p {
		if len(at) == 0 || m.ctx.Err() != nil {
			return nil
		}
		if m.back {
			i = len(p) - 1 - i
		}
		at = m.step(&p[i], at)
	}
	return at
}

func (m *matcher) step(e *element, at []int) []int {
	switch e.kind {
	case anyRunes:
		return m.beyond(at)
	case group:
		return m.group(e, at)
	}
	var to []int
	for _, pos := range at {
		r, next := m.next(pos)
		if next == pos {
			continue
		}
		ok := e.kind == anyRune
		if e.kind == literal {
			ok = r == e.lit || m.fold && unicode.SimpleFold(r) != r && strings.EqualFold(string(r), string(e.lit))
		} else if e.kind == oneOf {
			ok = e.set.has(r, m.fold)
		}
		if ok {
			to = append(to, next)
		}
	}
	return to
}

// next returns the character at a position, and the position behind it: the same one at the
// end of the text.
func (m *matcher) next(pos int) (rune, int) {
	switch {
	case m.back && pos > 0:
		r, size := decodeLast(m.s[:pos])
		return r, pos - size
	case !m.back && pos < len(m.s):
		r, size := DecodeRune(m.s[pos:])
		return r, pos + size
	}
	return 0, pos
}

// beyond returns every position from the first of at on.
func (m *matcher) beyond(at []int) []int {
	pos := at[0]
	if m.back {
		pos = at[len(at)-1]
	}
	to := []int{pos}
	for _, next := m.next(pos); next != pos; _, next = m.next(pos) {
		pos = next
		to = append(to, pos)
	}
	if m.back {
		slices.Reverse(to)
	}
	return to
}

func (m *matcher) group(e *element, at []int) []int {
	once := func(at []int) []int {
		var to []int
		for _, alt := range e.alts {
			to = append(to, m.run(alt, at)...)
		}
		return sorted(to)
	}
	switch e.op {
	case '@':
		return once(at)
	case '?':
		return sorted(append(once(at), at...))
	case '!':
		var to []int
		for _, pos := range at {
			one := []int{pos}
			not := once(one)
			for _, p := range m.beyond(one) {
				if _, found := slices.BinarySearch(not, p); !found {
					to = append(to, p)
				}
			}
		}
		return sorted(to)
	}
	var all []int
	if e.op == '*' {
		all = slices.Clone(at)
	}
	for front := at; len(front) > 0 && m.ctx.Err() == nil; {
		var fresh []int
		for _, p := range once(front) {
			if _, found := slices.BinarySearch(all, p); !found {
				fresh = append(fresh, p)
			}
		}
		all, front = sorted(append(all, fresh...)), fresh
	}
	return all
}

func sorted(list []int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}
