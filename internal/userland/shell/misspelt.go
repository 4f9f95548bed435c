package shell

import (
	"encoding/hex"
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// misspelt begins the pattern of ${_^^…} where the text has ${…} with what the parser
// cannot read: in hexadecimal digits, and its line ends behind them. Bash reads
// everything up to the brace and fails when it expands it. It is a private character.
const misspelt = "\U0010FFFC"

const markMisspelt = "${_^^" + misspelt

// badSubstitution is the error of an expansion that has no meaning.
type badSubstitution struct {
	text  string // the word, quoted text or here-document that has it, "" while that is open
	fatal bool
}

func (e *badSubstitution) Error() string        { return e.text + ": " + errSubstitution.Error() }
func (e *badSubstitution) Is(target error) bool { return target == errSubstitution }

// named completes an error of bad substitution with the text that has it.
func named(err error, text func() string) {
	if e, ok := err.(*badSubstitution); ok && e.text == "" {
		e.text = text()
	}
}

// original returns a part of the text that is executed as it was before requote.
func original(s string) string {
	if strings.Contains(s, toggled) {
		s = unmarkToggle.Replace(s)
	}
	for {
		before, rest, ok := strings.Cut(s, markMisspelt)
		if !ok {
			return s
		}
		digits, after, _ := strings.Cut(rest, "}")
		text, _ := hex.DecodeString(strings.TrimRight(digits, "\n"))
		s = before + "${" + string(text) + "}" + after
	}
}

// misspeltError returns where the opening of an expansion ends, at the latest, that the
// parser could not read.
func misspeltError(err error) (at int, ok bool) {
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
	at, ok := misspeltError(err)
	if !ok {
		if at, ok = arithmeticError(err); !ok { // in ${x:1 2}
			return "", false
		}
	}
	for open := min(at, len(text)); open > 0; {
		if open = strings.LastIndex(text[:open], "${"); open < 0 {
			break
		}
		if end := expansionEnd(text, open); end > open && end >= at-2 && !strings.HasPrefix(text[open:], markMisspelt) {
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
	inside := original(text[open+2 : end])
	return text[:open] + markMisspelt + hex.EncodeToString([]byte(inside)) + strings.Repeat("\n", strings.Count(inside, "\n")) + text[end:]
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

// misspelt reports whether requote marked an expansion, and returns its error. An unknown
// ${x@y} has none while x is not set.
func (sh *shell) misspelt(p *syntax.ParamExp) (bool, error) {
	if p.Exp == nil || p.Exp.Op != syntax.UpperAll {
		return false, nil
	}
	lit, _ := firstLit(p.Exp.Word)
	digits, ok := strings.CutPrefix(lit, misspelt)
	if !ok {
		return false, nil
	}
	text, _ := hex.DecodeString(strings.TrimRight(digits, "\n"))
	name, _, transforms := strings.Cut(string(text), "@")
	if transforms = transforms && validName(name); transforms && !sh.isSet(name) {
		return true, nil
	}
	return true, &badSubstitution{fatal: transforms}
}

func (sh *shell) isSet(name string) bool {
	_, set := sh.value(sh.lookup(name))
	return set
}
