package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// table is text in columns: the first to the left, the others to the right.
type table struct {
	head []string
	rows [][]string
}

// write prints the table. The last cell of a row that has fewer or more cells
// than the head is a remark, which widens no column.
func (t *table) write(w io.Writer) error {
	widths := make([]int, len(t.head))
	all := append([][]string{t.head}, t.rows...)
	for _, row := range all {
		for i, cell := range t.columns(row) {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range all {
		columns := t.columns(row)
		var line strings.Builder
		for i, cell := range columns {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		for _, remark := range row[len(columns):] {
			line.WriteString("  " + remark)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// columns are a row's cells without its remark.
func (t *table) columns(row []string) []string {
	if len(row) == len(t.head) {
		return row
	}
	return row[:min(len(row)-1, len(t.head))]
}

// ms shows a time in milliseconds, to three figures or so.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case d <= 0:
		return "-"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// times shows a ratio; 0 is one that is not known.
func times(r float64) string {
	switch {
	case r == 0:
		return "-"
	case r < 0.0995:
		return fmt.Sprintf("%.3f", r)
	case r < 99.95:
		return fmt.Sprintf("%.2f", r)
	}
	return fmt.Sprintf("%.0f", r)
}
