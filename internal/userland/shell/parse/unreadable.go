package parse

import (
	"encoding/hex"
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unreadable begins the pattern of ${_^^…} where the text has ${…} with what the parser
// cannot read: in hexadecimal digits, and its line ends behind them. Bash reads
// everything up to the brace and fails when it expands it. It is a private character.
const unreadable = "\U0010FFFC"

const markUnreadable = "${_^^" + unreadable

// Original returns a part of the text that is executed as it was before requote.
func Original(s string) string {
	if strings.Contains(s, Toggled) {
		s = unmarkToggle.Replace(s)
	}
	for {
		before, rest, ok := strings.Cut(s, markUnreadable)
		if !ok {
			return s
		}
		digits, after, _ := strings.Cut(rest, "}")
		text, _ := hex.DecodeString(strings.TrimRight(digits, "\n"))
		s = before + "${" + string(text) + "}" + after
	}
}

// unreadableError returns where the opening of an expansion ends, at the latest, that the
// parser could not read.
func unreadableError(err error) (at int, ok bool) {
	if lang, found := errors.AsType[syntax.LangError](err); found {
		at := int(lang.Pos.Offset())
		switch {
		case lang.Feature == "nested parameter expansions":
			return at + 1, true
		case strings.HasPrefix(lang.Feature, "parameter expansion"), strings.Contains(lang.Feature, "expansion operator"), strings.HasPrefix(lang.Feature, "`${"), strings.HasPrefix(lang.Feature, "${"):
			return at + 2, true
		}
		return 0, false
	}
	pe, found := errors.AsType[syntax.ParseError](err)
	for _, text := range []string{
		"not a valid parameter expansion operator", "invalid parameter name", "cannot be followed by a word", "@ expansion operator",
		"multiple parameter expansion operators", "nested parameter expansion", "cannot index a special parameter", "without matching `${` with `}`",
	} {
		if found && strings.Contains(pe.Text, text) {
			if at = int(pe.Pos.Offset()); strings.Contains(text, "matching") || strings.HasPrefix(pe.Text, "invalid nested") {
				at += 2
			}
			return at, true
		}
	}
	return 0, false
}

// quoteExpansion marks the expansion that the parser could not read.
func quoteExpansion(text string, err error) (string, bool) {
	at, ok := unreadableError(err)
	if !ok {
		if at, ok = ArithmeticError(err); !ok { // in ${x:1 2}
			return "", false
		}
	}
	for open := min(at, len(text)); open > 0; {
		if open = strings.LastIndex(text[:open], "${"); open < 0 {
			break
		}
		if end := expansionEnd(text, open); end > open && end >= at-2 && !strings.HasPrefix(text[open:], markUnreadable) {
			return mark(text, open, end), true
		}
	}
	return "", false
}

// quoteCommand marks the last ${ command; } before an error, which the parser knows from
// a later bash: there the words behind the blank are no commands.
func quoteCommand(text string, err error) (string, bool) {
	pe, ok := errors.AsType[syntax.ParseError](err)
	if !ok {
		return "", false
	}
	before := text[:min(int(pe.Pos.Offset()), len(text))]
	open := -1 // none of these is a mark
	for _, start := range []string{"${ ", "${\t", "${\n", "${|"} {
		open = max(open, strings.LastIndex(before, start))
	}
	if open < 0 {
		return "", false
	}
	if end := expansionEnd(text, open); end > 0 {
		return mark(text, open, end), true
	}
	return "", false
}

func mark(text string, open, end int) string {
	inside := Original(text[open+2 : end])
	return text[:open] + markUnreadable + hex.EncodeToString([]byte(inside)) + strings.Repeat("\n", strings.Count(inside, "\n")) + text[end:]
}

// expansionEnd returns where the brace is that ends the expansion at open, 0 without one.
func expansionEnd(text string, open int) int {
	depth := 0
	for i := open; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], "${"):
			depth++
			i++
		case text[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// Unreadable returns what stands in the braces of an expansion that requote marked.
func Unreadable(p *syntax.ParamExp) (text string, ok bool) {
	if p.Exp == nil || p.Exp.Op != syntax.UpperAll {
		return "", false
	}
	lit, _ := FirstLit(p.Exp.Word)
	digits, ok := strings.CutPrefix(lit, unreadable)
	inside, _ := hex.DecodeString(strings.TrimRight(digits, "\n"))
	return string(inside), ok
}

// FirstLit returns the letters that a word begins with.
func FirstLit(w *syntax.Word) (string, bool) {
	if w == nil || len(w.Parts) == 0 {
		return "", false
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	return lit.Value, true
}
