package jsparse

import (
	"errors"
	"unicode/utf8"
)

// errScan reports a source that cannot be split into tokens with certainty.
var errScan = errors.New("cannot tell the tokens apart")

// kind is the kind of a token.
type kind byte

const (
	none     kind = iota // before the first token
	word                 // an identifier or a keyword, also #private
	number               //
	text                 // a string literal
	template             // a template literal, ended
	regex                //
	mark                 // one character of punctuation
)

// token is a piece of the source.
type token struct {
	kind       kind
	start, end int  // byte offsets
	newline    bool // a line ends between this token and the one before
	depth      int  // open brackets around it
	// operand reports whether the token can end an expression: a division may
	// follow, a regular expression may not.
	operand bool
	// header reports whether a closing parenthesis ends the head of an if,
	// for, while or with: a statement follows.
	header bool
}

// bracket is an open bracket.
type bracket struct {
	char   byte // '(', '[', '{', '`' for ${ in a template, or of jsx.go
	header bool
	at     int // its offset
}

// Brackets of tags (JSX), beside those of bracket.
const (
	inTag  = '<' // between < and >
	inBody = '>' // between a tag and its closing tag
	inHole = 'x' // between { and }, in either
)

// scanner splits JavaScript and TypeScript into tokens. It needs memory only for
// the open brackets and does not recurse, so it accepts any input. Its neighbours
// decide what a token means (see RATIONALE.md); where they do not, it returns
// errScan rather than guess.
type scanner struct {
	src   string
	pos   int
	open  []bracket
	prev  token // the last token
	prev2 token // the one before it

	tags   bool // a < before an operand begins a tag
	tagged bool // there was one
}

// next returns the next token, or one of kind none at the end.
func (s *scanner) next() (token, error) {
	newline, err := s.space()
	if err != nil {
		return token{}, err
	}
	t := token{start: s.pos, newline: newline, depth: len(s.open)}
	if s.pos == len(s.src) {
		if len(s.open) > 0 {
			return t, errScan
		}
		t.end = s.pos
		return t, nil
	}
	if err := s.lex(&t); err != nil {
		return t, err
	}
	t.end = s.pos
	s.prev2, s.prev = s.prev, t
	return t, nil
}

// word returns the text of a token that is a word, or "".
func (s *scanner) word(t token) string {
	if t.kind != word {
		return ""
	}
	return s.src[t.start:t.end]
}

// is reports whether t is the punctuation c.
func (s *scanner) is(t token, c byte) bool { return t.kind == mark && s.src[t.start] == c }

// space skips blanks and comments, and reports whether a line ended.
func (s *scanner) space() (newline bool, err error) {
	for s.pos < len(s.src) {
		rest := s.src[s.pos:]
		c := rest[0]
		switch {
		case c == '\n' || c == '\r':
			newline = true
			s.pos++
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			s.pos++
		case len(rest) > 1 && c == '/' && rest[1] == '/', s.pos == 0 && len(rest) > 1 && c == '#' && rest[1] == '!':
			s.lineComment()
		case len(rest) > 1 && c == '/' && rest[1] == '*':
			nl, err := s.blockComment()
			if err != nil {
				return false, err
			}
			newline = newline || nl
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(rest)
			if !blank(r) {
				return newline, nil
			}
			newline = newline || lineEnd(r)
			s.pos += n
		default:
			return newline, nil
		}
	}
	return newline, nil
}

func lineEnd(r rune) bool { return r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029 }

// blank reports whether r is white space in JavaScript, ASCII aside.
func blank(r rune) bool {
	return lineEnd(r) || r == 0xa0 || r == 0xfeff || r == 0x1680 || 0x2000 <= r && r <= 0x200a ||
		r == 0x202f || r == 0x205f || r == 0x3000
}

func (s *scanner) lineComment() {
	for s.pos < len(s.src) {
		r, n := utf8.DecodeRuneInString(s.src[s.pos:])
		if lineEnd(r) {
			return
		}
		s.pos += n
	}
}

func (s *scanner) blockComment() (newline bool, err error) {
	for s.pos += 2; s.pos < len(s.src); {
		if s.src[s.pos] == '*' && s.pos+1 < len(s.src) && s.src[s.pos+1] == '/' {
			s.pos += 2
			return newline, nil
		}
		r, n := utf8.DecodeRuneInString(s.src[s.pos:])
		newline = newline || lineEnd(r)
		s.pos += n
	}
	return false, errScan
}

// lex reads the token at pos.
func (s *scanner) lex(t *token) error {
	c := s.src[s.pos]
	switch {
	case c == '"' || c == '\'':
		t.kind, t.operand = text, true
		return s.quoted(c)
	case c == '`':
		s.pos++
		return s.templateChars(t)
	case digit(c) || c == '.' && s.pos+1 < len(s.src) && digit(s.src[s.pos+1]):
		t.kind, t.operand = number, true
		s.number()
		return nil
	case c == '/' && !s.prev.operand:
		return s.regexp(t)
	case c == '/' && (s.is(s.prev, '}') || s.word(s.prev) == "of" && !s.is(s.prev2, '.')):
		return errScan // a block or an object; a variable or for (x of /y/)
	case c == '<' && s.tags && (!s.prev.operand || s.is(s.prev, '}')): // after a block, hardly after an object
		s.pos++
		if is, err := s.tag(t); is || err != nil {
			return err
		}
		t.kind = mark
		return nil
	case letter(c) || c == '#':
		t.kind = word
		s.letters()
		t.operand = !s.takesOperand(s.src[t.start:s.pos])
		return nil
	case c == '\\':
		return errScan // an escaped letter in a name
	}
	return s.punctuation(t, c)
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || c >= utf8.RuneSelf
}

func (s *scanner) letters() {
	for s.pos++; s.pos < len(s.src); {
		r, n := utf8.DecodeRuneInString(s.src[s.pos:])
		if r < utf8.RuneSelf && !letter(byte(r)) && !digit(byte(r)) || r >= utf8.RuneSelf && blank(r) {
			return
		}
		s.pos += n
	}
}

// number accepts more than JavaScript does; Deno reports the rest as syntax errors.
func (s *scanner) number() {
	start := s.pos
	for s.pos++; s.pos < len(s.src); s.pos++ {
		c := s.src[s.pos]
		sign := (c == '+' || c == '-') && (s.src[s.pos-1] == 'e' || s.src[s.pos-1] == 'E') &&
			!(s.src[start] == '0' && s.pos > start+1 && (s.src[start+1] == 'x' || s.src[start+1] == 'X'))
		if !letter(c) && !digit(c) && c != '.' && !sign {
			return
		}
		if c >= utf8.RuneSelf {
			if r, _ := utf8.DecodeRuneInString(s.src[s.pos:]); blank(r) {
				return
			}
		}
	}
}

func (s *scanner) quoted(quote byte) error {
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch s.src[s.pos] {
		case quote:
			s.pos++
			return nil
		case '\\':
			s.pos++
			if s.pos < len(s.src) && s.src[s.pos] == '\r' && s.pos+1 < len(s.src) && s.src[s.pos+1] == '\n' {
				s.pos++
			}
		case '\n', '\r':
			return errScan
		}
	}
	return errScan
}

// templateChars reads a template literal from the character after ` or } up
// to its end or the next ${.
func (s *scanner) templateChars(t *token) error {
	for ; s.pos < len(s.src); s.pos++ {
		switch s.src[s.pos] {
		case '`':
			s.pos++
			t.kind, t.operand = template, true
			return nil
		case '\\':
			s.pos++
		case '$':
			if s.pos+1 < len(s.src) && s.src[s.pos+1] == '{' {
				s.pos += 2
				s.open = append(s.open, bracket{char: '`'})
				t.kind = mark
				return nil
			}
		}
	}
	return errScan
}

func (s *scanner) regexp(t *token) error {
	class := false
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '\n' || c == '\r':
			return errScan
		case c == '\\':
			s.pos++
			if s.pos < len(s.src) && (s.src[s.pos] == '\n' || s.src[s.pos] == '\r') {
				return errScan
			}
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			t.kind, t.operand = regex, true
			s.letters() // flags; takes the slash as their first
			return nil
		}
	}
	return errScan
}

// takesOperand reports whether an operand follows the word, as after return, so
// that a slash begins a regular expression.
func (s *scanner) takesOperand(w string) bool {
	if s.is(s.prev, '.') {
		return false // a property of that name
	}
	switch w {
	case "return", "typeof", "instanceof", "in", "new", "delete", "void", "throw",
		"case", "do", "else", "await", "yield", "default", "extends":
		return true
	}
	return false
}

// punctuation reads one character of punctuation.
func (s *scanner) punctuation(t *token, c byte) error {
	t.kind = mark
	s.pos++
	switch c {
	case '(', '[', '{':
		header := false
		if c == '(' && !s.is(s.prev2, '.') {
			switch s.word(s.prev) {
			case "if", "while", "for", "with":
				header = true
			case "await": // for await (
				header = s.word(s.prev2) == "for"
			}
		}
		s.open = append(s.open, bracket{c, header, t.start})
	case ')', ']', '}':
		return s.closing(t, c)
	case '!':
		// After an operand it is TypeScript's assertion, or begins !=.
		t.operand = s.prev.operand && !t.newline && (s.pos == len(s.src) || s.src[s.pos] != '=')
	case '+', '-':
		// The second of ++ or --: after an operand it is a postfix.
		double := s.is(s.prev, c) && s.prev.end == t.start
		t.operand = double && s.prev2.operand && !s.prev.newline
	}
	return nil
}

func (s *scanner) closing(t *token, c byte) error {
	if len(s.open) == 0 {
		return errScan
	}
	b := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	t.depth = len(s.open)
	switch {
	case b.char == '`' && c == '}':
		return s.templateChars(t)
	case b.char == inHole && c == '}':
		return s.element(t)
	case b.char == '(' && c == ')', b.char == '[' && c == ']', b.char == '{' && c == '}':
		t.header, t.operand = b.header, !b.header
		return nil
	}
	return errScan
}
