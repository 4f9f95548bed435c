package commands

import (
	"fmt"
	"strings"
)

// Kinds of awk's tokens.
const (
	awkEOF = iota
	awkNewline
	awkNumber
	awkString
	awkRegex
	awkName
	awkCall // a name right before "("
	awkBuiltin
	awkWord // a keyword
	awkPunct
)

type awkToken struct {
	kind int
	text string
	line int
}

var awkWords = map[string]bool{
	"BEGIN": true, "END": true, "function": true, "func": true, "if": true, "else": true, "while": true,
	"for": true, "do": true, "break": true, "continue": true, "next": true, "nextfile": true, "exit": true,
	"return": true, "delete": true, "in": true, "getline": true, "print": true, "printf": true,
	"switch": true, "case": true, "default": true,
}

// awkLexer splits a program into tokens.
type awkLexer struct {
	src  string
	at   int
	line int
	last awkToken
}

// awkError is a mistake in a program.
type awkError struct {
	line int
	what string
}

func (e *awkError) Error() string { return fmt.Sprintf("%d: %s", e.line, e.what) }

func (l *awkLexer) token(kind int, text string) awkToken {
	l.last = awkToken{kind, text, l.line}
	return l.last
}

// regexAllowed reports whether a "/" here begins an expression.
func (l *awkLexer) regexAllowed() bool {
	switch l.last.kind {
	case awkNumber, awkString, awkRegex, awkName, awkBuiltin:
		return false
	case awkPunct:
		return l.last.text != ")" && l.last.text != "]" && l.last.text != "$" && l.last.text != "++" && l.last.text != "--"
	}
	return true
}

var awkPuncts = []string{
	"**=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "==", "<=", ">=", "!=", "!~", ">>", "|&",
	"{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|", "?", ":", "~", "$", "=",
}

func (l *awkLexer) next() (awkToken, error) {
	for l.at < len(l.src) {
		switch ch := l.src[l.at]; {
		case ch == ' ' || ch == '\t' || ch == '\r':
			l.at++
		case ch == '\\' && strings.HasPrefix(l.src[l.at+1:], "\n"):
			l.at += 2
			l.line++
		case ch == '\\' && strings.HasPrefix(l.src[l.at+1:], "\r\n"):
			l.at += 3
			l.line++
		case ch == '#':
			for l.at < len(l.src) && l.src[l.at] != '\n' {
				l.at++
			}
		case ch == '\n':
			l.at++
			t := l.token(awkNewline, "\n")
			l.line++
			return t, nil
		case ch == '"':
			return l.str()
		case ch >= '0' && ch <= '9' || ch == '.' && l.at+1 < len(l.src) && l.src[l.at+1] >= '0' && l.src[l.at+1] <= '9':
			n := floatLen(l.src[l.at:])
			if rest := l.src[l.at:]; len(rest) > 2 && rest[0] == '0' && rest[1]|32 == 'x' {
				n = 2
				for n < len(rest) && trClasses["xdigit"](int(rest[n])) {
					n++
				}
			}
			l.at += n
			return l.token(awkNumber, l.src[l.at-n:l.at]), nil
		case wordByte(ch) && (ch < '0' || ch > '9'):
			return l.name(), nil
		case ch == '/' && l.regexAllowed():
			return l.regex()
		default:
			for _, p := range awkPuncts {
				if strings.HasPrefix(l.src[l.at:], p) {
					l.at += len(p)
					switch p {
					case "**":
						p = "^"
					case "**=":
						p = "^="
					}
					return l.token(awkPunct, p), nil
				}
			}
			return awkToken{}, &awkError{l.line, fmt.Sprintf("unexpected character '%c'", ch)}
		}
	}
	return l.token(awkEOF, "end of program"), nil
}

func (l *awkLexer) name() awkToken {
	start := l.at
	for l.at < len(l.src) && wordByte(l.src[l.at]) {
		l.at++
	}
	name := l.src[start:l.at]
	switch {
	case awkWords[name]:
		return l.token(awkWord, name)
	case awkFunctions[name].run != nil || name == "length":
		return l.token(awkBuiltin, name)
	case l.at < len(l.src) && l.src[l.at] == '(':
		return l.token(awkCall, name)
	}
	return l.token(awkName, name)
}

func (l *awkLexer) str() (awkToken, error) {
	var b strings.Builder
	for l.at++; l.at < len(l.src) && l.src[l.at] != '"'; {
		switch l.src[l.at] {
		case '\n':
			return awkToken{}, &awkError{l.line, "runaway string constant"}
		case '\\':
			if strings.HasPrefix(l.src[l.at:], "\\\n") {
				l.at += 2
				l.line++
				continue
			}
			text, n := awkEscape(l.src[l.at:])
			b.WriteString(text)
			l.at += n
		default:
			b.WriteByte(l.src[l.at])
			l.at++
		}
	}
	if l.at >= len(l.src) {
		return awkToken{}, &awkError{l.line, "runaway string constant"}
	}
	l.at++
	return l.token(awkString, b.String()), nil
}

// awkEscape reads an escape of a string. Those that mean nothing stay, so that
// "\." works as an expression.
func awkEscape(s string) (string, int) {
	if len(s) > 1 && s[1] == '/' {
		return "/", 2
	}
	text, n, stop := cEscape(s, false)
	if stop {
		return s[:2], 2
	}
	return text, n
}

func (l *awkLexer) regex() (awkToken, error) {
	var b strings.Builder
	inBracket := false
	for l.at++; l.at < len(l.src); l.at++ {
		ch := l.src[l.at]
		switch {
		case ch == '\n':
			return awkToken{}, &awkError{l.line, "regular expression without its end"}
		case ch == '\\' && l.at+1 < len(l.src):
			l.at++
			if l.src[l.at] != '/' {
				b.WriteByte('\\')
			}
			b.WriteByte(l.src[l.at])
			continue
		case ch == '[' && !inBracket:
			inBracket = true
			b.WriteByte(ch)
			for _, m := range []byte{'^', ']'} {
				if l.at+1 < len(l.src) && l.src[l.at+1] == m {
					l.at++
					b.WriteByte(m)
				}
			}
			continue
		case ch == '[' && inBracket && strings.HasPrefix(l.src[l.at:], "[:"):
			if end := strings.Index(l.src[l.at:], ":]"); end > 0 {
				b.WriteString(l.src[l.at : l.at+end+2])
				l.at += end + 1
				continue
			}
		case ch == ']':
			inBracket = false
		case ch == '/' && !inBracket:
			l.at++
			return l.token(awkRegex, b.String()), nil
		}
		b.WriteByte(ch)
	}
	return awkToken{}, &awkError{l.line, "regular expression without its end"}
}
