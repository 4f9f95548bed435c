package system

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/userland/commands/command"
)

// calWidth is how many columns a month has.
const calWidth = len("Su Mo Tu We Th Fr Sa")

// Cal is cal as util-linux has it: months of the Gregorian calendar, in plain text.
func Cal(c *command.Call) int {
	o := c.Parse("1,one 3,three y,year m,monday s,sunday n,months= !j,julian !w,week", 0, 3)
	now := time.Now().In(c.Zone())
	year, month, count := now.Year(), now.Month(), 1
	args := o.Args
	if n := len(args); n > 0 {
		year = calNumber(c, args[n-1], 9999, "illegal year value: use 1-9999")
		if n > 1 {
			month = calMonth(c, args[n-2])
		}
		if n > 2 {
			most := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
			calNumber(c, args[0], most, fmt.Sprintf("illegal day value: use 1-%d", most))
		}
	}
	whole := o.On("y") || len(args) == 1
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	switch {
	case whole:
		first, count = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), 12
		c.Print(centre(strconv.Itoa(year), 3*calWidth+2*3) + "\n\n")
	case o.On("3"):
		first, count = first.AddDate(0, -1, 0), 3
	case o.On("n"):
		count = calNumber(c, o.Value("n", ""), 1200, "invalid month argument")
	}
	for ; count > 0; count, first = count-3, first.AddDate(0, 3, 0) {
		calRow(c, first, min(count, 3), !whole, o.Last("m", "s") == "m")
	}
	return c.Status
}

func calNumber(c *command.Call, s string, most int, wrong string) int {
	n, ok := command.Atoi(s)
	if !ok || n < 1 || n > most {
		c.Exit(1, "%s", wrong)
	}
	return n
}

// calMonth reads a month: its number or the beginning of its name.
func calMonth(c *command.Call, s string) time.Month {
	for m := time.January; m <= time.December && len(s) >= 3; m++ {
		if strings.HasPrefix(strings.ToLower(m.String()), strings.ToLower(s)) {
			return m
		}
	}
	if _, ok := command.Atoi(s); !ok {
		c.Exit(1, "unknown month name: %s", s)
	}
	return time.Month(calNumber(c, s, 12, "illegal month value: use 1-12"))
}

// calRow prints months beside each other.
func calRow(c *command.Call, first time.Time, n int, year, monday bool) {
	columns := make([][]string, n)
	for i := range columns {
		columns[i] = calLines(first.AddDate(0, i, 0), year, monday)
	}
	for at := range columns[0] {
		for i, lines := range columns {
			if i > 0 {
				c.Print("   ")
			}
			c.Print(lines[at])
		}
		c.Print("\n")
	}
}

// calLines returns the eight lines of a month.
func calLines(first time.Time, year, monday bool) []string {
	title, days, skip := first.Month().String(), "Su Mo Tu We Th Fr Sa", int(first.Weekday())
	if year {
		title += " " + strconv.Itoa(first.Year())
	}
	if monday {
		days, skip = "Mo Tu We Th Fr Sa Su", (skip+6)%7
	}
	lines := []string{centre(title, calWidth), days}
	last := first.AddDate(0, 1, -1).Day()
	for week := range 6 {
		cells := make([]string, 7)
		for i := range cells {
			cells[i] = "  "
			if day := week*7 + i - skip + 1; day >= 1 && day <= last {
				cells[i] = fmt.Sprintf("%2d", day)
			}
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return lines
}

func centre(s string, width int) string {
	left := (width - len(s)) / 2
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", width-len(s)-left)
}
