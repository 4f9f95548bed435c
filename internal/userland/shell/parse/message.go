package parse

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Message returns an error of the parser in bash's words.
func (s *Source) Message(prefix string, err error) string {
	text := s.Text
	var pe syntax.ParseError
	if !errors.As(err, &pe) {
		if errors.Is(err, ErrNesting) {
			return fmt.Sprintf("%s: syntax error: %v\n", prefix, err)
		}
		return fmt.Sprintf("%s: %v\n", prefix, err)
	}
	first := s.First - 1
	line := int(pe.Pos.Line())
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	at := func(line int) string { return fmt.Sprintf("%s: line %d: ", prefix, s.Line(line)+first) }
	if missing, ok := unclosed(pe.Text); ok {
		return at(line) + "unexpected EOF while looking for matching `" + missing + "'\n"
	}
	if strings.HasPrefix(pe.Text, "reached EOF without matching `$(`") {
		return at(len(lines)+1) + "unexpected EOF while looking for matching `)'\n"
	}
	if missing, ok := unclosedExpansion(pe, text); ok {
		return at(line) + "unexpected EOF while looking for matching `" + missing + "'\n"
	}
	if pe.Incomplete || strings.Contains(pe.Text, "reached EOF") {
		return at(len(lines)+1) + "syntax error: unexpected end of file\n"
	}
	offset := int(pe.Pos.Offset())
	if next := nextWord(pe, text); next > offset {
		line += strings.Count(text[offset:next], "\n")
	}
	shown, asked := "", line
	if s.asked != "" {
		lines, asked = strings.Split(s.asked, "\n"), s.Line(line)
	}
	if asked > 0 && asked <= len(lines) {
		shown = lines[asked-1]
	}
	if token := unexpected(pe, text); token != "" {
		return at(line) + "syntax error near unexpected token `" + token + "'\n" + at(line) + "`" + shown + "'\n"
	}
	return at(line) + "syntax error: " + strings.ReplaceAll(pe.Text, "`", "'") + "\n" + at(line) + "`" + shown + "'\n"
}

// unclosed returns the quote that the parser did not find.
func unclosed(msg string) (string, bool) {
	for _, q := range []string{"\"", "'", "`"} {
		if strings.Contains(msg, "without closing quote `"+q+"`") || q == "`" && strings.Contains(msg, "without closing quote \"`\"") {
			return q, true
		}
	}
	if strings.Contains(msg, "without matching `(` with `)`") {
		return ")", true
	}
	if strings.Contains(msg, "without matching `${` with `}`") {
		return "}", true
	}
	return "", false
}

// unclosedExpansion returns what bash looks for in vain behind a ${x that has no brace: its
// end, or that of the quotes that are taken for the beginning of others.
func unclosedExpansion(pe syntax.ParseError, text string) (string, bool) {
	at := int(pe.Pos.Offset())
	if !strings.HasPrefix(pe.Text, "not a valid parameter expansion operator") || at >= len(text) {
		return "", false
	}
	if text[at] == '"' || text[at] == '\'' {
		return text[at : at+1], true
	}
	return "}", true
}

// nextWord returns where the word begins that stands in the place of commands, behind what must
// be followed by some: then, do, |, &&. It is 0 if that is not the error.
func nextWord(pe syntax.ParseError, text string) int {
	left, list := strings.CutSuffix(pe.Text, " must be followed by a statement list")
	left, one := strings.CutSuffix(left, " must be followed by a statement")
	if !list && !one || int(pe.Pos.Offset()) > len(text) {
		return 0
	}
	rest := strings.TrimPrefix(text[pe.Pos.Offset():], strings.Trim(left, "`\""))
	for {
		rest = strings.TrimLeft(rest, " \t\n")
		if !strings.HasPrefix(rest, "#") {
			return len(text) - len(rest)
		}
		_, rest, _ = strings.Cut(rest, "\n")
	}
}

// unexpected returns the token that bash would name: the one at the error's
// place, or behind what needs something to follow.
func unexpected(pe syntax.ParseError, text string) string {
	offset := int(pe.Pos.Offset())
	if offset > len(text) {
		return ""
	}
	rest := text[offset:]
	if next := nextWord(pe, text); next > 0 {
		rest = text[next:]
	} else if left, expression := strings.CutSuffix(pe.Text, " must be followed by an expression"); expression {
		rest = strings.TrimPrefix(rest, strings.Trim(left, "`\""))
	} else if strings.HasPrefix(pe.Text, "`foo(`") { // whatever the name is
		_, rest, _ = strings.Cut(rest, "(")
	} else if !slices.ContainsFunc([]string{"statements must be separated", "can only", "is not a valid start", "can only contain words", "test operator"}, func(s string) bool { return strings.Contains(pe.Text, s) }) {
		return ""
	}
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" || rest[0] == '\n' {
		return "newline"
	}
	for _, op := range []string{"&&", "||", ";;", "|&", "&>", "<<", ">>", "((", ";", "&", "|", "(", ")", "<", ">", "{", "}"} {
		if strings.HasPrefix(rest, op) {
			return op
		}
	}
	if i := strings.IndexByte(rest[1:], rest[0]); i >= 0 && strings.IndexByte("\"'", rest[0]) >= 0 {
		return rest[:i+2]
	}
	return rest[:strings.IndexAny(rest+"\n", " \t\n;&|()<>")]
}
