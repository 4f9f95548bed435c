package jsparse

import "strings"

// Incomplete reports whether a program seems to go on after its end: a bracket, a
// template or a comment is open, or an operand is missing.
func Incomplete(source string) bool {
	s := &scanner{src: source, prev: token{kind: none}, tags: strings.Contains(source, "</") || strings.Contains(source, "/>")}
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
