package parse

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxQuoted bounds how often a text is parsed again.
const maxQuoted = 200

// quoteArithmetic quotes what the parser took for arithmetic and could not read: the
// subscript of an associative array, as in ${m[two words]} and ([a.b]=c), and an
// expression that is one only when it was expanded, as $((a $op b)).
func quoteArithmetic(text string, err error) (string, bool) {
	at, ok := ArithmeticError(err)
	if !ok || at >= len(text) {
		return "", false
	}
	brackets, parens := 0, 0
	for i := at; i > 0; i-- {
		open := 0
		switch text[i] {
		case ']':
			brackets++
		case ')':
			parens++
		case '[':
			if brackets--; brackets < 0 {
				open, brackets = i, 0
			}
		case '(':
			if parens--; parens < 0 {
				open, parens = i, 0
			}
		}
		if open == 0 {
			continue
		}
		end := closing(text, open)
		if end == 0 && text[open] == '(' && text[open-1] == '(' {
			return text[:open] + " " + text[open:], true // a subshell in a subshell
		}
		if end > 0 {
			from := open + 1
			if counting(text[:open]) { // its three expressions are parsed one by one
				from += strings.LastIndexByte(text[from:at], ';') + 1
				if n := strings.IndexByte(text[at:end], ';'); n >= 0 {
					end = at + n
				}
			}
			inside := text[from:end]
			if strings.ContainsAny(inside, "\"'`\\") || text[i] == '[' && strings.Contains(inside, "\n") {
				return "", false
			}
			return text[:from] + `"` + inside + `"` + text[end:], true
		}
	}
	return "", false
}

// counting reports whether a text ends with the beginning of for ((…; …; …)).
func counting(text string) bool {
	head, ok := strings.CutSuffix(text, "(")
	head, loop := strings.CutSuffix(strings.TrimRight(head, " \t"), "for")
	return ok && loop && (head == "" || strings.ContainsAny(head[len(head)-1:], " \t\n;&|({"))
}

// ArithmeticError returns the place of an error in an arithmetic expression.
func ArithmeticError(err error) (at int, ok bool) {
	if lang, found := errors.AsType[syntax.LangError](err); found {
		return int(lang.Pos.Offset()), strings.HasPrefix(lang.Feature, "floating point")
	}
	pe, found := errors.AsType[syntax.ParseError](err)
	for _, text := range []string{"arithmetic operator", "arithmetic expression", "ternary operator", "an expression", "must follow a name", "`expr` must be followed by `;`", "without matching `[`", "reached `$` without matching `(`"} {
		if found && strings.Contains(pe.Text, text) {
			at := int(pe.Pos.Offset())
			if strings.HasPrefix(pe.Text, "`[` must follow") || strings.HasPrefix(pe.Text, "'[' must follow") {
				at-- // it is no subscript
			}
			return at, true
		}
	}
	return 0, false
}

// closing returns where a subscript or an arithmetic expression ends that begins at
// open, 0 if none does.
func closing(text string, open int) int {
	depth := 0
	left, right := text[open], text[open]+2 // [ and ]
	if left == '(' {
		right = ')'
	}
	for i := open; i < len(text); i++ {
		switch text[i] {
		case left:
			depth++
		case right:
			depth--
		}
		if depth > 0 {
			continue
		}
		rest := text[i+1:]
		element := strings.ContainsAny(text[open-1:open], "( \t\n") && (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "+="))
		if left == '[' && (element || ValidName("_"+text[open-1:open])) || left == '(' && text[open-1] == '(' && strings.HasPrefix(rest, ")") {
			return i
		}
		return 0
	}
	return 0
}

// Toggled begins the pattern of ${x^} and ${x^^} where the text has ${x~} and ${x~~},
// which the parser does not know. It is a private character.
const Toggled = "\U0010FFFD"

var unmarkToggle = strings.NewReplacer("^^"+Toggled, "~~", "^"+Toggled, "~")

// markToggle writes the operator ~ at which the parser failed as it can read it.
func markToggle(text string, err error) (string, bool) {
	pe, found := errors.AsType[syntax.ParseError](err)
	at := int(pe.Pos.Offset())
	if !found || !strings.HasPrefix(pe.Text, "not a valid parameter expansion operator") || at >= len(text) || text[at] != '~' {
		return "", false
	}
	if rest, twice := strings.CutPrefix(text[at:], "~~"); twice {
		return text[:at] + "^^" + Toggled + rest, true
	}
	return text[:at] + "^" + Toggled + text[at+1:], true
}

// quoteName has a quote in the word of export, local and the like at which the parser failed
// because it assigns to what is no name: that is the builtin's to refuse.
func quoteName(text string, err error) (string, bool) {
	pe, found := errors.AsType[syntax.ParseError](err)
	at := int(pe.Pos.Offset())
	if !found || pe.Text != "invalid var name" || at >= len(text) || strings.ContainsAny(text[at:at+1], "\"'`$\\") {
		return "", false
	}
	return text[:at] + "''" + text[at:], true
}

// quoteLet quotes the let at which the parser failed: it knows neither comments nor expansions
// of names behind it, and the builtin takes its words.
func quoteLet(text string, err error) (string, bool) {
	pe, _ := errors.AsType[syntax.ParseError](err)
	at := min(int(pe.Pos.Offset()), len(text))
	from := strings.LastIndexByte(text[:at], '\n') + 1
	i := strings.LastIndex(text[from:at], "let ") + from
	if i < from || i > from && !strings.ContainsAny(text[i-1:i], " \t;&|({") {
		return "", false
	}
	return text[:i] + `\` + text[i:], true
}

// negateTwice takes two ! out of a pipeline that is negated more than once.
func negateTwice(text string, err error) (string, bool) {
	pe, _ := errors.AsType[syntax.ParseError](err)
	at := int(pe.Pos.Offset())
	if pe.Text != "cannot negate a command multiple times" || at >= len(text) {
		return "", false
	}
	next := strings.IndexByte(text[at+1:], '!')
	if next < 0 {
		return "", false
	}
	next += at + 1
	return text[:at] + " " + text[at+1:next] + " " + text[next+1:], true
}

// zeroNothing puts a zero into (( )), which has no expression.
func zeroNothing(text string, err error) (string, bool) {
	pe, _ := errors.AsType[syntax.ParseError](err)
	at := int(pe.Pos.Offset())
	if !strings.HasSuffix(pe.Text, "`((` must be followed by an expression") && !strings.HasSuffix(pe.Text, "`$((` must be followed by an expression") || at > len(text) {
		return "", false
	}
	i := strings.Index(text[at:], "((")
	if i < 0 || strings.TrimLeft(text[at+i+2:], " \t\n") == "" || strings.TrimLeft(text[at+i+2:], " \t\n")[0] != ')' {
		return "", false
	}
	return text[:at+i+2] + "0" + text[at+i+2:], true
}

// requote returns a text that means the same and that the parser can read farther, if
// there is one.
func requote(text string, err error) (string, bool) {
	for _, f := range []func(string, error) (string, bool){replaceAliases, quoteLet, zeroNothing, quoteArithmetic, markToggle, quoteName, quoteExpansion, quoteCommand, negateTwice, spaceNegation} {
		if text, ok := f(text, err); ok {
			return text, true
		}
	}
	return "", false
}
