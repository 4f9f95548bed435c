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
	pe = behindOperator(withoutDo(pe, text), text)
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

// withoutDo moves the error of a for or select without do from its beginning to what
// stands where do should, which is what bash names.
func withoutDo(pe syntax.ParseError, text string) syntax.ParseError {
	start := pe.Pos
	if !strings.HasSuffix(pe.Text, "must be followed by `do`") || start.Offset() > uint(len(text)) {
		return pe
	}
	recovering := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.RecoverErrors(1))
	file, _ := recovering.Parse(&reader{s: text[start.Offset():]}, "")
	if file == nil || len(file.Stmts) == 0 {
		return pe
	}
	loop, ok := file.Stmts[0].Cmd.(*syntax.ForClause)
	if !ok {
		return pe
	}
	at := loop.DonePos
	if len(loop.Do) > 0 {
		at = loop.Do[0].Pos()
	}
	if at.IsValid() && !at.IsRecovered() {
		pe.Pos = syntax.NewPos(start.Offset()+at.Offset(), start.Line()+at.Line()-1, at.Col())
		pe.Text = "can only follow do"
	}
	return pe
}

// behindOperator moves the error of a list or pipeline that does not go on from its operator
// to what follows that, which can be lines below.
func behindOperator(pe syntax.ParseError, text string) syntax.ParseError {
	op, found := strings.CutSuffix(strings.TrimPrefix(pe.Text, "`"), "` must be followed by a statement")
	at := int(pe.Pos.Offset()) + len(op)
	if !found || !slices.Contains([]string{"|", "|&", "&&", "||"}, op) || at > len(text) {
		return pe
	}
	for at < len(text) && strings.IndexByte(" \t\n#", text[at]) >= 0 {
		if text[at] == '#' {
			at += strings.IndexByte(text[at:]+"\n", '\n') - 1
		}
		at++
	}
	if at < len(text) {
		pe.Pos = syntax.NewPos(uint(at), 1+uint(strings.Count(text[:at], "\n")), 1)
		pe.Text = "can only follow a command"
	}
	return pe
}

// unexpected returns the token that bash would name: the one at the error's
// place, or behind what needs something to follow.
func unexpected(pe syntax.ParseError, text string) string {
	offset := int(pe.Pos.Offset())
	if offset > len(text) {
		return ""
	}
	rest := text[offset:]
	if left, _, ok := strings.Cut(pe.Text, " must be followed by "); ok {
		left = strings.Trim(left, "`\"")
		if left == "foo(" { // whatever the name is
			_, rest, _ = strings.Cut(rest, "(")
		}
		rest = strings.TrimPrefix(rest, strings.Fields(left + " ")[0])
	} else if !strings.Contains(pe.Text, "statements must be separated") && !strings.Contains(pe.Text, "can only") && !strings.Contains(pe.Text, "is not a valid start") && !strings.Contains(pe.Text, "can only contain words") && !strings.Contains(pe.Text, "test operator") {
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
