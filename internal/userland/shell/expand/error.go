package expand

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
)

// Errors of expansions, whatever command meets them.
var (
	ErrSubstitution = errors.New("bad substitution")
	ErrIndirect     = errors.New("invalid indirect expansion")
)

// BadSubstitution is the error of an expansion that has no meaning.
type BadSubstitution struct {
	Text  string // the word, quoted text or here-document that has it, "" while that is open
	Fatal bool
}

func (e *BadSubstitution) Error() string        { return e.Text + ": " + ErrSubstitution.Error() }
func (e *BadSubstitution) Is(target error) bool { return target == ErrSubstitution }

// named completes an error of bad substitution with the text that has it.
func named(err error, text func() string) {
	if e, ok := err.(*BadSubstitution); ok && e.Text == "" {
		e.Text = text()
	}
}

// misspelt reports whether an expansion is one that the parser could not read, and returns
// its error. An unknown ${x@y} has none while x is not set.
func (ex *Expander) misspelt(p *syntax.ParamExp) (bool, error) {
	text, ok := parse.Unreadable(p)
	if !ok {
		return false, nil
	}
	name, _, transforms := strings.Cut(text, "@")
	if transforms = transforms && parse.ValidName(name); transforms && !ex.vars.IsSet(name) {
		return true, nil
	}
	return true, &BadSubstitution{Fatal: transforms}
}
