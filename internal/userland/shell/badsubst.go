package shell

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
)

// Errors of expansions, whatever command meets them.
var (
	errSubstitution = errors.New("bad substitution")
	errIndirect     = errors.New("invalid indirect expansion")
)

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

// misspelt reports whether an expansion is one that the parser could not read, and returns
// its error. An unknown ${x@y} has none while x is not set.
func (sh *shell) misspelt(p *syntax.ParamExp) (bool, error) {
	text, ok := parse.Unreadable(p)
	if !ok {
		return false, nil
	}
	name, _, transforms := strings.Cut(text, "@")
	if transforms = transforms && parse.ValidName(name); transforms && !sh.vars.IsSet(name) {
		return true, nil
	}
	return true, &badSubstitution{fatal: transforms}
}
