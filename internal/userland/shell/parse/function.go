package parse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
	var b strings.Builder
	b.WriteString(name + " () \n")
	if block, ok := f.Body.Cmd.(*syntax.Block); ok && len(f.Text) < 100_000 {
		b.WriteString("{ \n")
		for _, st := range block.Stmts {
			var s strings.Builder
			if err := syntax.NewPrinter(syntax.Indent(4)).Print(&s, st); err != nil {
				return name + " () \n" + f.Text + "\n"
			}
			for line := range strings.SplitSeq(Original(strings.TrimRight(s.String(), "\n")), "\n") {
				b.WriteString("    " + line + "\n")
			}
		}
		text := strings.TrimRight(b.String(), "\n")
		return strings.ReplaceAll(text, "\n    }\n", "\n    };\n") + "\n}\n"
	}
	return name + " () \n" + f.Text + "\n"
}
