package text

import (
	"math"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// tabStops parses the argument of expand -t.
func tabStops(c *command.Call, o *command.Options) (stops []int) {
	s, bad := o.Value("t", o.Value("#", "8")), false
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, ok := command.Atoi(part)
		bad = bad || !ok || n <= 0 || n > 1<<16 || len(stops) > 0 && n <= stops[len(stops)-1]
		stops = append(stops, n)
	}
	if bad || len(stops) == 0 {
		c.Exit(1, "tab size contains invalid character(s): %s", command.Quote(o.Value("t", "")))
	}
	return stops
}

// eachLine prints what f prints for each line, which ends as it does in the input.
func eachLine(c *command.Call, names []string, f func(line string)) int {
	l := c.Lines(c.Concat(names), '\n')
	for line := range l.All() {
		f(string(line))
		if l.Whole {
			c.Print("\n")
		}
	}
	return c.Status
}

// Expand converts tabs to spaces.
func Expand(c *command.Call) int {
	o := c.Parse("i,initial t,tabs= #")
	stops := tabStops(c, o)
	return eachLine(c, o.Args, func(line string) {
		rest := ""
		if o.On("i") {
			rest = strings.TrimLeft(line, " \t")
		}
		c.Print(command.ExpandTabs(line[:len(line)-len(rest)], stops) + rest)
	})
}

// Unexpand converts spaces to tabs.
func Unexpand(c *command.Call) int {
	o := c.Parse("a,all first-only t,tabs= #")
	stops := tabStops(c, o)
	all := (o.On("a") || o.On("t")) && !o.On("first-only")
	return eachLine(c, o.Args, func(line string) {
		column, pending := 0, 0
		leading := true
		for _, r := range line {
			if (r == ' ' || r == '\t') && (all || leading) {
				to := column + 1
				if r == '\t' {
					to = command.NextStop(column, stops)
				}
				pending += to - column
				column = to
				if command.NextStop(column-1, stops) == column && (pending > 1 || r == '\t') {
					c.Print("\t")
					pending = 0
				}
				continue
			}
			c.Print(strings.Repeat(" ", pending))
			pending, leading = 0, false
			c.Print(string(r))
			column += command.Cells(r)
		}
		c.Print(strings.Repeat(" ", pending))
	})
}

// Fold wraps lines at a width.
func Fold(c *command.Call) int {
	o := c.Parse("b,bytes s,spaces w,width= #")
	width := c.Int(o.Value("w", o.Value("#", "80")), 1, math.MaxInt, "invalid number of columns: %s")
	return eachLine(c, o.Args, func(line string) {
		for rest := line; ; {
			end, column, space := len(rest), 0, -1
			for i, ch := range []byte(rest) { // GNU's counts bytes
				next := column + 1
				switch {
				case o.On("b"):
				case ch == '\t':
					next = column/8*8 + 8
				case ch == '\b':
					next = max(0, column-1)
				case ch == '\r':
					next = 0
				}
				if next > width && i > 0 {
					end = i
					break
				}
				column = next
				if ch == ' ' || ch == '\t' {
					space = i + 1
				}
			}
			if end < len(rest) && o.On("s") && space > 0 {
				end = space
			}
			c.Print(rest[:end])
			if rest = rest[end:]; rest == "" {
				break
			}
			c.Print("\n")
		}
	})
}
