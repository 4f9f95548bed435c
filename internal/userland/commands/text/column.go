package text

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// Column lays lines out in columns.
func Column(c *command.Call) int {
	o := c.Parse("t,table s,separator= o,output-separator= c,output-width= x,fillrows d,table-noheadings N,table-columns= R,table-right= H,table-hide= l,table-columns-limit= n,table-name= J,json !e,table-header-repeat !L,keep-empty-lines !T,table-truncate= !W,table-wrap= !E,table-noextreme= !O,table-order= !C,table-column=")
	var rows []string
	l := c.Lines(c.Concat(o.Args), '\n')
	for line := range l.All() {
		if len(strings.TrimSpace(string(line))) > 0 {
			c.Must(c.Reserve(int64(len(line)) + rowCost))
			rows = append(rows, string(line))
		}
	}
	if len(rows) == 0 {
		return c.Status
	}
	if o.On("J") && o.Value("N", "") == "" {
		return c.Die(1, "option --table-columns required for --json")
	}
	if o.On("t") || o.On("J") {
		columnTable(c, o, rows)
	} else {
		columnFill(c, o, rows)
	}
	return c.Status
}

// rowCost is what a line takes beside its text, and cellCost a cell of a table.
const (
	rowCost  = 80
	cellCost = 32
)

// columnFill prints rows in as many columns as fit.
func columnFill(c *command.Call, o *command.Options, rows []string) {
	width, ok := command.Atoi(o.Value("c", c.Env("COLUMNS")))
	if !ok {
		width = 80
	}
	longest := 0
	for _, r := range rows {
		longest = max(longest, len([]rune(r)))
	}
	cell := (longest/8 + 1) * 8
	cols := max(1, width/cell)
	lines := (len(rows) + cols - 1) / cols
	for i := range lines {
		column := 0
		for j := range cols {
			at := j*lines + i
			if o.On("x") {
				at = i*cols + j
			}
			if at >= len(rows) {
				break
			}
			for column < j*cell {
				c.Print("\t")
				column = column/8*8 + 8
			}
			c.Print(rows[at])
			column += len([]rune(rows[at]))
		}
		c.Print("\n")
	}
}

// columnTable prints the fields of rows below one another.
func columnTable(c *command.Call, o *command.Options, rows []string) {
	sep, limit := o.Value("s", ""), 0
	if s := o.Value("l", ""); s != "" {
		limit = c.Int(s, 1, 1<<20, "invalid columns limit argument: %s")
	}
	var table [][]string
	var names []string
	if s := o.Value("N", ""); s != "" {
		names = strings.Split(s, ",")
	}
	right, hidden := columnSet(c, o.Value("R", ""), names), columnSet(c, o.Value("H", ""), names)
	for _, r := range rows {
		cells := strings.Fields
		if sep != "" {
			cells = func(s string) []string { return splitAny(s, sep) }
		}
		c.Must(c.Reserve(cellCost * int64(1+strings.Count(r, cmp.Or(sep, " ")))))
		row := cells(r)
		if limit > 0 && len(row) > limit {
			row = append(row[:limit-1], lastCell(r, sep, limit))
		}
		table = append(table, row)
	}
	if o.On("J") {
		columnJSON(c, o.Value("n", "table"), names, table, hidden)
		return
	}
	if names != nil && !o.On("d") {
		table = slices.Insert(table, 0, names)
	}
	right = shown(table, right, hidden)
	var widths []int
	for _, r := range table {
		for i, cell := range r {
			if i >= len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	between := o.Value("o", "  ")
	for _, r := range table {
		if c.Stopped() {
			return
		}
		for i, cell := range r {
			blanks := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if right(i) {
				cell, blanks = blanks+cell, ""
			}
			if c.Print(cell); i < len(widths)-1 {
				c.Print(blanks + between)
			}
		}
		for i := len(r); i < len(widths)-1; i++ {
			c.Print(strings.Repeat(" ", widths[i]) + between)
		}
		c.Print("\n")
	}
}

// shown takes the hidden columns out, and returns which of the others right has.
func shown(table [][]string, right, hidden func(int) bool) func(int) bool {
	widest := 0
	for n, r := range table {
		widest = max(widest, len(r))
		at := -1
		table[n] = slices.DeleteFunc(slices.Clone(r), func(string) bool { at++; return hidden(at) })
	}
	var left []int
	for i := range widest {
		if !hidden(i) {
			left = append(left, i)
		}
	}
	return func(i int) bool { return i < len(left) && right(left[i]) }
}

// lastCell is the rest of a row from the nth cell on.
func lastCell(row, sep string, n int) string {
	blank := sep == ""
	if blank {
		sep = " \t"
	}
	for range n - 1 {
		if blank {
			row = strings.TrimLeft(row, sep)
		}
		row = row[strings.IndexAny(row, sep)+1:]
	}
	if blank {
		row = strings.Trim(row, sep)
	}
	return row
}

// columnJSON prints the table as JSON.
func columnJSON(c *command.Call, name string, names []string, table [][]string, hidden func(int) bool) {
	quote := func(s string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		c.Must(e.Encode(s))
		return strings.TrimSuffix(b.String(), "\n")
	}
	c.Printf("{\n   %s: [\n      ", quote(name))
	for n, r := range table {
		if n > 0 {
			c.Print(",")
		}
		c.Print("{")
		first := true
		for i, name := range names {
			if hidden(i) {
				continue
			}
			if !first {
				c.Print(",")
			}
			first = false
			value := "null"
			if i < len(r) && r[i] != "" {
				value = quote(r[i])
			}
			c.Printf("\n         %s: %s", quote(strings.ToLower(name)), value)
		}
		c.Print("\n      }")
	}
	c.Print("\n   ]\n}\n")
}

// columnSet reads a list of columns, each a number or a name, and returns what
// reports whether it has the one at an index. 0 is all of them.
func columnSet(c *command.Call, list string, names []string) func(int) bool {
	in := map[int]bool{}
	if list == "" {
		return func(int) bool { return false }
	}
	for name := range strings.SplitSeq(list, ",") {
		n, ok := command.Atoi(name)
		if at := slices.Index(names, name); at >= 0 {
			n = at + 1
		} else if !ok || n < 0 {
			c.Exit(1, "undefined column name '%s'", name)
		}
		in[n-1] = true
	}
	return func(i int) bool { return in[i] || in[-1] }
}

// splitAny splits at any of the characters of sep.
func splitAny(s, sep string) (parts []string) {
	for {
		at := strings.IndexAny(s, sep)
		if at < 0 {
			return append(parts, s)
		}
		parts, s = append(parts, s[:at]), s[at+1:]
	}
}
