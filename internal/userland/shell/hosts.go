package shell

import "coderunner/internal/userland/shell/vars"

// variables is a shell as its variables see it.
type variables struct{ sh *shell }

func (h variables) Evaluate(s string) (int64, error)              { return h.sh.evaluate(s) }
func (h variables) Special(name string) *vars.Variable            { return h.sh.special(name) }
func (h variables) Assigned(name, s string)                       { h.sh.assigned(name, s) }
func (h variables) Subscript(v *vars.Variable, sub string) string { return h.sh.subscript(v, sub) }
func (h variables) Report(err error)                              { h.sh.report(err) }
func (h variables) AllExport() bool                               { return h.sh.opts.Allexport }
