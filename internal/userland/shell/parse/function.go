package parse

import "mvdan.cc/sh/v3/syntax"

// Function is a shell function.
type Function struct {
	Body     *syntax.Stmt
	Src      *Source
	Text     string
	Exported bool
	ReadOnly bool
}

// Definition returns a function's definition, as type and declare -f show it.
func (f *Function) Definition(name string) string {
	if len(f.Text) < 100_000 {
		if s, ok := f.Src.PrintedFunction(f.Body); ok {
			return name + " () \n" + s
		}
	}
	return name + " () \n" + f.Text + "\n"
}
