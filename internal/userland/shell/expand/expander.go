// Package expand expands words into fields: braces, tildes, parameters, commands,
// arithmetic, splitting, file names and quotes. It runs nothing: its Host runs command
// substitutions.
package expand

import (
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/arith"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
	"context"

	"mvdan.cc/sh/v3/syntax"
)

// Host is what expansions need of the shell that makes them.
type Host interface {
	Context() context.Context
	// Source returns the text that is executed, and Line the line of a position in it.
	Source() *parse.Source
	Line(pos syntax.Pos) int
	// Stack bounds how deep expansions nest.
	Stack() *kernel.Stack
	// Arguments returns $0 and the positional parameters.
	Arguments() (zero string, rest []string)
	// Parameter returns $?, $$ or $!.
	Parameter(name byte) (text string, set bool)
	// Output runs a command substitution, and Substitute a process substitution, whose
	// path it returns.
	Output(*syntax.CmdSubst) (string, error)
	Substitute(*syntax.ProcSubst) (string, error)
	// Report reports an error that does not end what meets it, and Exhausted one that
	// ends the program.
	Report(error)
	Exhausted(error)
	// Stopped reports whether no more is to be done.
	Stopped() bool
}

// Expander makes the expansions of a shell.
type Expander struct {
	vars  *vars.Vars
	files *files.Files
	opts  *options.Set
	host  Host
}

// New returns what makes the expansions of a shell.
func New(vs *vars.Vars, fl *files.Files, opts *options.Set, host Host) *Expander {
	return &Expander{vs, fl, opts, host}
}

// Variables returns the variables of the shell.
func (ex *Expander) Variables() *vars.Vars { return ex.vars }

// Source returns the text that is executed.
func (ex *Expander) Source() *parse.Source { return ex.host.Source() }

// Nounset reports whether a variable that is not set is an error.
func (ex *Expander) Nounset() bool { return ex.opts.Nounset }

// Stack bounds how deep expansions nest.
func (ex *Expander) Stack() *kernel.Stack { return ex.host.Stack() }

// Evaluate evaluates the text of an arithmetic expression.
func (ex *Expander) Evaluate(s string) (int64, error) { return arith.Evaluate(ex, s) }

// Number evaluates an arithmetic expression.
func (ex *Expander) Number(x syntax.ArithmExpr) (int64, error) { return arith.Expression(ex, x) }

// Text expands a text as what stands in double quotes.
func (ex *Expander) Text(s string) (string, error) {
	w, err := parse.Document(s)
	if err != nil {
		return "", err
	}
	return ex.Document(w)
}
