package jsparse

import (
	"strings"
)

// tag reads from the < of a tag, which was read. It reports false if that begins
// the parameters of a generic function instead.
func (s *scanner) tag(t *token) (bool, error) {
	rest := s.src[s.pos:]
	name := rest[:len(rest)-len(strings.TrimLeft(rest, nameChars))]
	after := strings.TrimLeft(rest[len(name):], " ")
	if name == "" && !strings.HasPrefix(after, ">") ||
		name != "" && (strings.HasPrefix(after, ",") || strings.HasPrefix(after, "extends ") || len(name) == 1 && name < "a" && strings.HasPrefix(after, ">(")) {
		return false, nil
	}
	s.open = append(s.open, bracket{char: inTag})
	s.tagged = true
	return true, s.element(t)
}

const nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.:-"

// element reads tags and the text between them, up to the end of the outermost
// one or the next expression in braces.
func (s *scanner) element(t *token) error {
	for s.pos < len(s.src) {
		at := s.pos
		s.pos++
		switch c := s.src[at]; {
		case c == '{':
			s.open = append(s.open, bracket{char: inHole})
			t.kind = mark
			return nil
		case s.open[len(s.open)-1].char == inBody:
			if c != '<' {
				continue
			}
			if !strings.HasPrefix(s.src[s.pos:], "/") {
				s.open = append(s.open, bracket{char: inTag})
			} else if !s.after(">") || s.closed(t) {
				return s.ended(t)
			}
		case c == '"' || c == '\'':
			if !s.after(string(c)) {
				return errScan
			}
		case c == '/' && strings.HasPrefix(s.src[s.pos:], "*"):
			if !s.after("*/") {
				return errScan
			}
		case c == '/' && strings.HasPrefix(s.src[s.pos:], "/"):
			s.lineComment()
		case c == '/' && strings.HasPrefix(strings.TrimLeft(s.src[s.pos:], " \t\r\n"), ">"):
			if s.after(">"); s.closed(t) {
				return nil
			}
		case c == '<' && strings.ContainsRune(nameChars, rune(s.src[at-1])):
			s.types()
		case c == '<':
			s.open = append(s.open, bracket{char: inTag})
		case c == '>':
			s.open[len(s.open)-1].char = inBody
		}
	}
	return errScan
}

// ended returns errScan unless the outermost element has just ended.
func (s *scanner) ended(t *token) error {
	if t.kind != template {
		return errScan
	}
	return nil
}

// after moves behind the next occurrence of a text, and reports whether there is one.
func (s *scanner) after(text string) bool {
	i := strings.Index(s.src[s.pos:], text)
	if i >= 0 {
		s.pos += i + len(text)
	}
	return i >= 0
}

// closed ends an element, and reports whether it was the outermost.
func (s *scanner) closed(t *token) bool {
	s.open = s.open[:len(s.open)-1]
	if n := len(s.open); n > 0 && (s.open[n-1].char == inTag || s.open[n-1].char == inBody) {
		return false
	}
	t.kind, t.operand, t.depth = template, true, len(s.open)
	return true
}

// types skips the types of a generic component, whose < was read.
func (s *scanner) types() {
	for depth := 1; s.pos < len(s.src) && depth > 0; s.pos++ {
		switch s.src[s.pos] {
		case '<':
			depth++
		case '>':
			depth--
		}
	}
}
