package text

import (
	"bufio"
	"strings"
	"unicode/utf8"

	"coderunner/internal/userland/commands/command"
)

// Col is col: it puts characters that backspaces and carriage returns move to the
// columns where they end up. Reverse line feeds are dropped.
func Col(c *command.Call) int {
	o := c.Parse("b,no-backspaces f,fine h,tabs p,pass x,spaces l,lines=", 0, 0)
	l := c.Lines(c.Concat(nil), '\n')
	for line := range l.All() {
		writeColumns(c.Out, columnsOf(line), o.On("b"), o.On("x"))
	}
	return c.Status
}

// columnsOf returns what was written to each column of a line, in its order.
func columnsOf(line []byte) (columns [][]rune) {
	at := 0
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		line = line[size:]
		switch {
		case r == '\b':
			at = max(0, at-1)
		case r == '\r':
			at = 0
		case r == '\t':
			at = (at/8 + 1) * 8
		case r == ' ':
			at++
		case r == '\033' && len(line) > 0:
			line = line[1:]
		case r > ' ':
			for len(columns) <= at {
				columns = append(columns, nil)
			}
			columns[at] = append(columns[at], r)
			at++
		}
	}
	return columns
}

// writeColumns writes a line: only the last character of each column, or all with
// backspaces between them.
func writeColumns(w *bufio.Writer, columns [][]rune, last, spaces bool) {
	blank := 0 // columns before this one
	for at, written := range columns {
		if len(written) == 0 {
			blank++
			continue
		}
		from := at - blank
		for tab := (from/8 + 1) * 8; !spaces && blank > 1 && tab <= at; tab += 8 {
			w.WriteByte('\t')
			from = tab
		}
		w.WriteString(strings.Repeat(" ", at-from))
		blank = 0
		if last {
			written = written[len(written)-1:]
		}
		for i, r := range written {
			if i > 0 {
				w.WriteByte('\b')
			}
			w.WriteRune(r)
		}
	}
	w.WriteByte('\n')
}
