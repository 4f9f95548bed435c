package awk

import (
	"fmt"
	"strings"

	"coderunner/internal/userland/printf"
	"coderunner/internal/userland/regex"
)

// Kinds of awk's tokens.
const (
	endOfInput = iota
	newline
	number
	stringLiteral
	regexLiteral
	identifier
	call // a name right before "("
	builtin
	word // a keyword
	punct
)

type token struct {
	kind int
	text string
	line int
	at   int // in the program
}

var words = map[string]bool{
	"BEGIN": true, "END": true, "BEGINFILE": true, "ENDFILE": true, "function": true, "func": true, "if": true, "else": true, "while": true,
	"for": true, "do": true, "break": true, "continue": true, "next": true, "nextfile": true, "exit": true,
	"return": true, "delete": true, "in": true, "getline": true, "print": true, "printf": true,
	"switch": true, "case": true, "default": true,
}

// lexer splits a program into tokens.
type lexer struct {
	src   string
	at    int
	start int // of the token
	line  int
	last  token
}

// mistake is a mistake in a program.
type mistake struct {
	line int
	at   int // in the program; -1: only the line is known
	what string
}

func (e *mistake) Error() string { return fmt.Sprintf("%d: %s", e.line, e.what) }

// lineOf is the number of the line that has the byte at a place.
func (l *lexer) lineOf(at int) int { return 1 + strings.Count(l.src[:at], "\n") }

func (l *lexer) token(kind int, text string) token {
	l.last = token{kind, text, l.line, l.start}
	return l.last
}

// regexAllowed reports whether a "/" here begins an expression.
func (l *lexer) regexAllowed() bool {
	switch l.last.kind {
	case number, stringLiteral, regexLiteral, identifier, builtin:
		return false
	case punct:
		return l.last.text != ")" && l.last.text != "]" && l.last.text != "$" && l.last.text != "++" && l.last.text != "--"
	}
	return true
}

var puncts = []string{
	"**=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "==", "<=", ">=", "!=", "!~", ">>", "|&",
	"{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|", "?", ":", "~", "$", "=",
}

func (l *lexer) next() token {
	for l.at < len(l.src) {
		l.start = l.at
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
			t := l.token(newline, "\n")
			l.line++
			return t
		case ch == '"':
			return l.str()
		case ch >= '0' && ch <= '9' || ch == '.' && l.at+1 < len(l.src) && l.src[l.at+1] >= '0' && l.src[l.at+1] <= '9':
			n := printf.FloatLen(l.src[l.at:])
			if rest := l.src[l.at:]; len(rest) > 2 && rest[0] == '0' && rest[1]|32 == 'x' {
				n = 2
				for n < len(rest) && regex.Classes["xdigit"](int(rest[n])) {
					n++
				}
			}
			l.at += n
			return l.token(number, l.src[l.at-n:l.at])
		case regex.WordByte(ch) && (ch < '0' || ch > '9'):
			return l.name()
		case ch == '/' && l.regexAllowed():
			return l.regex()
		default:
			for _, p := range puncts {
				if strings.HasPrefix(l.src[l.at:], p) {
					l.at += len(p)
					switch p {
					case "**":
						p = "^"
					case "**=":
						p = "^="
					}
					return l.token(punct, p)
				}
			}
			if ch == '@' {
				panic(&mistake{l.line, l.at, "@ (of @include, @load and calls of functions by name) is not available in this sandbox"})
			}
			panic(&mistake{l.line, l.at, fmt.Sprintf("invalid char '%c' in expression", ch)})
		}
	}
	l.start = l.at
	return l.token(endOfInput, "end of program")
}

func (l *lexer) name() token {
	start := l.at
	for l.at < len(l.src) && regex.WordByte(l.src[l.at]) {
		l.at++
	}
	name := l.src[start:l.at]
	switch {
	case words[name]:
		return l.token(word, name)
	case functions[name].run != nil || name == "length":
		return l.token(builtin, name)
	case l.at < len(l.src) && l.src[l.at] == '(':
		return l.token(call, name)
	}
	return l.token(identifier, name)
}

func (l *lexer) str() token {
	var b strings.Builder
	for l.at++; l.at < len(l.src) && l.src[l.at] != '"'; {
		switch l.src[l.at] {
		case '\n':
			panic(&mistake{l.line, l.start, "unterminated string"})
		case '\\':
			if strings.HasPrefix(l.src[l.at:], "\\\n") {
				l.at += 2
				l.line++
				continue
			}
			text, n := unescape(l.src[l.at:])
			b.WriteString(text)
			l.at += n
		default:
			b.WriteByte(l.src[l.at])
			l.at++
		}
	}
	if l.at >= len(l.src) {
		panic(&mistake{l.line, l.start, "unterminated string"})
	}
	l.at++
	return l.token(stringLiteral, b.String())
}

// unescape reads an escape of a string. Those that mean nothing stay, so that
// "\." works as an expression.
func unescape(s string) (string, int) {
	if len(s) > 1 && s[1] == '/' {
		return "/", 2
	}
	text, n, stop := printf.CEscape(s, false)
	if stop {
		return s[:2], 2
	}
	return text, n
}

func (l *lexer) regex() token {
	var b strings.Builder
	unclosed := false
	for l.at++; l.at < len(l.src); l.at++ {
		ch := l.src[l.at]
		switch {
		case ch == '\n':
			panic(&mistake{l.line, l.start + 1, "unterminated regexp"})
		case ch == '\\' && l.at+1 < len(l.src):
			l.at++
			if l.src[l.at] != '/' {
				b.WriteByte('\\')
			}
			b.WriteByte(l.src[l.at])
			continue
		case ch == '[' && !unclosed:
			if n := regex.BracketLen(l.src[l.at:], true); n > 0 {
				b.WriteString(l.src[l.at : l.at+n])
				l.at += n - 1
				continue
			}
			unclosed = true
		case ch == '/':
			l.at++
			return l.token(regexLiteral, b.String())
		}
		b.WriteByte(ch)
	}
	panic(&mistake{l.line, l.start + 1, "unterminated regexp"})
}
