package command

import (
	"strings"
)

// NextStop is the column of the next tab stop.
func NextStop(column int, stops []int) int {
	if len(stops) == 1 {
		return (column/stops[0] + 1) * stops[0]
	}
	for _, s := range stops {
		if s > column {
			return s
		}
	}
	return column + 1
}

// ExpandTabs replaces tabs by spaces.
func ExpandTabs(s string, stops []int) string {
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	var b strings.Builder
	column := 0
	for _, r := range s {
		if r == '\t' {
			to := NextStop(column, stops)
			b.WriteString(strings.Repeat(" ", to-column))
			column = to
			continue
		}
		b.WriteRune(r)
		column += Cells(r)
	}
	return b.String()
}

// Cells is how many columns a character takes on a terminal.
func Cells(r rune) int {
	switch {
	case r >= 0x300 && r <= 0x36f, r == 0x200b, r == 0x200d, r >= 0xfe00 && r <= 0xfe0f:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf,
		r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f,
		r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1f64f,
		r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
