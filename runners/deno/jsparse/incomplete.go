package jsparse

import "strings"

// Incomplete reports whether a program seems to go on after its end: a bracket, a
// template or a comment is open, or an operand is missing.
func Incomplete(source string) bool {
	s := &scanner{src: source, prev: token{kind: none}, tags: hasTags(source)}
	for {
		open, before := s.open, s.pos
		t, err := s.next()
		if err != nil {
			rest := strings.TrimSpace(source[before:])
			inTemplate := len(open) > 0 && open[len(open)-1].char == '`'
			closes := rest != "" && strings.ContainsRune(`)]}`, rune(rest[0])) && !inTemplate
			quoted := rest != "" && strings.ContainsRune(`'"`, rune(rest[0]))
			return s.pos >= len(source) && !closes && !quoted || strings.HasPrefix(rest, "/*")
		}
		if t.kind == none {
			last := source[s.prev.start:s.prev.end]
			return s.prev.kind == mark && !s.prev.operand && strings.Contains("=+-*%&|^?:,.<>~!", last)
		}
	}
}

// Unclosed returns the bracket that is open at the end of a program, or the quote that is at
// the end of a line, and the line where it stands, 0 if there is none. Of several brackets
// it is the innermost.
func Unclosed(source string) (mark string, line int) {
	s := &scanner{src: source, prev: token{kind: none}, tags: hasTags(source)}
	for {
		t, err := s.next()
		if t.kind == text && err != nil {
			line, _ = position(source, t.start)
			return source[t.start : t.start+1], line
		}
		if err != nil || t.kind == none {
			break
		}
	}
	if n := len(s.open); n > 0 && s.pos == len(source) && strings.IndexByte("([{", s.open[n-1].char) >= 0 {
		line, _ = position(source, s.open[n-1].at)
		return string(s.open[n-1].char), line
	}
	return "", 0
}
