package awk

import (
	"fmt"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// source is the text of a program, of one part or several.
type source struct {
	text  string
	parts []part
}

type part struct {
	name string
	line int // the first one
}

func (s *source) add(name, text string) {
	if s.parts != nil && !strings.HasSuffix(s.text, "\n") {
		s.text += "\n"
	}
	s.parts = append(s.parts, part{name, 1 + strings.Count(s.text, "\n")})
	s.text += text
}

// place is what a message about a line begins with.
func (s *source) place(line int) string {
	if line == 0 {
		return ""
	}
	var p part
	for _, next := range s.parts {
		if next.line <= line {
			p = next
		}
	}
	return fmt.Sprintf("%s:%d: ", p.name, line-p.line+1)
}

// refuse ends awk for a mistake in its program, showing the line as gawk does.
func (s *source) refuse(c *command.Call, m *mistake) int {
	place := s.place(m.line)
	switch {
	case strings.HasPrefix(m.what, "fatal: "):
		return c.Die(2, "%s%s", place, m.what)
	case m.at < 0:
		return c.Die(1, "%s%s", place, m.what)
	}
	before, after := s.text[:m.at], s.text[m.at:]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ = strings.Cut(after, "\n")
	c.Errorf("%s%s", place, before+after)
	blanks := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, before)
	return c.Die(1, "%s%s^ %s", place, blanks, m.what)
}
