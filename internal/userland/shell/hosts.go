package shell

import (
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
	"context"
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// variables is a shell as its variables see it.
type variables struct{ sh *shell }

func (h variables) Evaluate(s string) (int64, error)              { return h.sh.ex.Evaluate(s) }
func (h variables) Special(name string) *vars.Variable            { return h.sh.special(name) }
func (h variables) Assigned(name, s string)                       { h.sh.assigned(name, s) }
func (h variables) Subscript(v *vars.Variable, sub string) string { return h.sh.ex.Subscript(v, sub) }
func (h variables) Report(err error)                              { h.sh.report(err) }
func (h variables) AllExport() bool                               { return h.sh.opts.Allexport }

// expansions is a shell as its expansions see it.
type expansions struct{ sh *shell }

func (h expansions) Context() context.Context      { return h.sh.ctx }
func (h expansions) Source() *parse.Source         { return h.sh.src }
func (h expansions) Line(pos syntax.Pos) int       { return h.sh.lineOf(pos) }
func (h expansions) Stack() *kernel.Stack          { return &h.sh.p.Stack }
func (h expansions) Arguments() (string, []string) { return h.sh.arg0, h.sh.params }
func (h expansions) Report(err error)              { h.sh.report(err) }
func (h expansions) Exhausted(err error)           { h.sh.exhausted(err) }
func (h expansions) Stopped() bool                 { return h.sh.stopped() }

func (h expansions) Output(c *syntax.CmdSubst) (string, error)      { return h.sh.output(c) }
func (h expansions) Substitute(p *syntax.ProcSubst) (string, error) { return h.sh.substitute(p) }

func (h expansions) Parameter(name byte) (string, bool) {
	switch name {
	case '?':
		return strconv.Itoa(h.sh.status), true
	case '$':
		return strconv.Itoa(h.sh.pid), true
	}
	if h.sh.lastJob == 0 {
		return "", false
	}
	return strconv.Itoa(h.sh.lastJob), true
}
