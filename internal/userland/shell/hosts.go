package shell

import (
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/options"
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
func (h expansions) Arguments() (string, []string) { return h.sh.state.Zero, h.sh.state.Params }
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

// face is a shell as its builtins see it.
type face struct{ sh *shell }

func (h face) Context() context.Context          { return h.sh.ctx }
func (h face) Process() *kernel.Process          { return h.sh.p }
func (h face) Vars() *vars.Vars                  { return h.sh.vars }
func (h face) Files() *files.Files               { return &h.sh.files }
func (h face) Options() *options.Set             { return &h.sh.opts }
func (h face) Expander() *expand.Expander        { return h.sh.ex }
func (h face) State() *builtins.State            { return &h.sh.state }
func (h face) Builtins() []string                { return names }
func (h face) Write(fd int, s string) bool       { return h.sh.write(fd, s) }
func (h face) Print(command, s string) int       { return h.sh.print(command, s) }
func (h face) Errorf(format string, args ...any) { h.sh.errorf(format, args...) }
func (h face) Report(err error)                  { h.sh.report(err) }
func (h face) ReportIn(command string, e error)  { h.sh.reportIn(command, e) }
func (h face) Discard(err error)                 { h.sh.discard(err) }
func (h face) Exhausted(err error)               { h.sh.exhausted(err) }
func (h face) Trace(s string)                    { h.sh.trace(s) }
func (h face) TraceCommand(words []string)       { h.sh.traceCommand(words) }
func (h face) Eval(text string)                  { h.sh.evalText(text) }
func (h face) Stopped() bool                     { return h.sh.stopped() }
func (h face) JumpStatus() int                   { return h.sh.jumpStatus() }
func (h face) DropLine() bool                    { return h.sh.dropLine() }

func (h face) Run(args []string) int {
	h.sh.run(args)
	return h.sh.status
}

func (h face) AssignList(name, text string, add, assoc bool) error {
	return h.sh.assignList(name, text, add, assoc)
}
