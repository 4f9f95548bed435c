package shell

import (
	"context"
	"strconv"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// The exported methods of a shell are those of vars.Host, expand.Host, builtins.Shell and
// parse.Dialect: what its variables, expansions, builtins and the parser see of it.

func (sh *shell) Evaluate(s string) (int64, error)              { return sh.ex.Evaluate(s) }
func (sh *shell) Subscript(v *vars.Variable, sub string) string { return sh.ex.Subscript(v, sub) }
func (sh *shell) AllExport() bool                               { return sh.opts.Allexport }

func (sh *shell) Source() *parse.Source         { return sh.src }
func (sh *shell) Stack() *kernel.Stack          { return &sh.p.Stack }
func (sh *shell) Arguments() (string, []string) { return sh.state.Zero, sh.state.Params }

func (sh *shell) Parameter(name byte) (string, bool) {
	switch name {
	case '?':
		return strconv.Itoa(sh.status), true
	case '$':
		return strconv.Itoa(sh.pid), true
	}
	if sh.lastJob == 0 {
		return "", false
	}
	return strconv.Itoa(sh.lastJob), true
}

func (sh *shell) Context() context.Context   { return sh.ctx }
func (sh *shell) Process() *kernel.Process   { return sh.p }
func (sh *shell) Vars() *vars.Vars           { return sh.vars }
func (sh *shell) Files() *files.Files        { return &sh.files }
func (sh *shell) Options() *options.Set      { return &sh.opts }
func (sh *shell) Expander() *expand.Expander { return sh.ex }
func (sh *shell) State() *builtins.State     { return &sh.state }
func (sh *shell) Builtins() []string         { return names }
