package stacktrace

import (
	"regexp"
	"strconv"
	"strings"

	"coderunner/runners/deno/jsparse"
)

// In the message about a program that it cannot read, Deno shows lines and marks
// places in them:
//
//	  |
//	1 | let x: = 2;
//	  |        ~
var (
	shownLine = regexp.MustCompile(`^( *)(\d+) \| (.*)$`)
	marks     = regexp.MustCompile(`^( *\| )( *)(~+\s*)$`)
)

// Unedited replaces the lines that Deno shows of an edited program by those of its
// source, and moves the marks below them.
func Unedited(stack string, p *jsparse.Program) string {
	if !p.HasEdits() || !strings.Contains(stack, " | ") {
		return stack
	}
	lines := strings.Split(stack, "\n")
	edited, source := strings.Split(p.Edited(), "\n"), strings.Split(p.Source, "\n")
	for i, l := range lines {
		m := shownLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		if n < 1 || n > len(edited) || len(edited) != len(source) || strings.TrimSuffix(edited[n-1], "\r") != strings.TrimSuffix(m[3], "\r") {
			continue
		}
		lines[i] = m[1] + m[2] + " | " + strings.TrimSuffix(source[n-1], "\r")
		if i+1 < len(lines) {
			if at := marks.FindStringSubmatch(lines[i+1]); at != nil {
				column, _ := p.Column(n, len(at[2])+1)
				lines[i+1] = at[1] + strings.Repeat(" ", column-1) + at[3]
			}
		}
	}
	return strings.Join(lines, "\n")
}
