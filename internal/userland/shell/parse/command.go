package parse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command returns a command as BASH_COMMAND has it.
func (s *Source) Command(st *syntax.Stmt) string {
	var parts []string
	if c, ok := st.Cmd.(*syntax.CallExpr); ok {
		for _, as := range c.Assigns {
			parts = append(parts, s.Of(as))
		}
		for _, w := range c.Args {
			parts = append(parts, s.Of(w))
		}
	} else {
		parts = append(parts, s.head(st.Cmd))
	}
	for _, r := range st.Redirs {
		text := r.Op.String()
		if r.N != nil {
			text = r.N.Value + text
		}
		switch r.Op {
		case syntax.DplIn, syntax.DplOut, syntax.Hdoc, syntax.DashHdoc:
		default:
			text += " "
		}
		parts = append(parts, text+s.Of(r.Word))
	}
	return strings.Join(parts, " ")
}

// head returns the head of a loop or case, else all of a command.
func (s *Source) head(c syntax.Command) string {
	switch c := c.(type) {
	case *syntax.ForClause:
		if from, to := c.Pos().Offset(), c.DoPos.Offset(); from < to && int(to) <= len(s.Text) {
			return strings.TrimRight(Original(s.Text[from:to]), "; \t\n")
		}
	case *syntax.Subshell:
		if text, ok := s.Printed(&syntax.Stmt{Cmd: c}); ok {
			return text
		}
	case *syntax.CaseClause:
		return "case " + s.Of(c.Word) + " in "
	}
	return s.Of(c)
}

// LineText returns a line of the shell.
func (s *Source) LineText(line int) string {
	lines := strings.Split(s.Text, "\n")
	if at := line - s.First; at >= 0 && at < len(lines) {
		return lines[at]
	}
	return ""
}
