package stacktrace

import (
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

// Unedited replaces the lines that Deno shows of an edited program by those of its
// source, and moves the marks below them.
func Unedited(stack string, p *jsparse.Program) string {
	if !p.HasEdits() || !strings.Contains(stack, " | ") {
		return stack
	}
	lines := strings.Split(stack, "\n")
	edited, source := strings.Split(p.Edited(), "\n"), strings.Split(p.Source, "\n")
	for i, l := range lines {
		number, shown, _ := strings.Cut(l, " | ")
		n, err := strconv.Atoi(strings.TrimLeft(number, " "))
		if err != nil || n < 1 || n > len(edited) || len(edited) != len(source) || strings.TrimSuffix(edited[n-1], "\r") != strings.TrimSuffix(shown, "\r") {
			continue
		}
		lines[i] = number + " | " + strings.TrimSuffix(source[n-1], "\r")
		if i+1 == len(lines) {
			continue
		}
		margin, marks, _ := strings.Cut(lines[i+1], "| ")
		if tildes := strings.TrimLeft(marks, " "); strings.Trim(margin, " ") == "" && strings.HasPrefix(tildes, "~") {
			column, _ := p.Column(n, len(marks)-len(tildes)+1)
			lines[i+1] = margin + "| " + strings.Repeat(" ", column-1) + tildes
		}
	}
	return strings.Join(lines, "\n")
}
