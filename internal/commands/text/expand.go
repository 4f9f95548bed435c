package text

import (
	"math"
	"slices"
	"strings"

	"coderunner/internal/commands/command"
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

// Expand converts tabs to spaces.
func Expand(c *command.Call) int {
	o := c.Parse("i,initial t,tabs= #")
	stops := tabStops(c, o)
	l := c.Lines(c.Concat(o.Args), '\n')
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		s := string(line)
		if o.On("i") {
			rest := strings.TrimLeft(s, " \t")
			c.Print(command.ExpandTabs(s[:len(s)-len(rest)], stops) + rest)
		} else {
			c.Print(command.ExpandTabs(s, stops))
		}
		if l.Whole {
			c.Print("\n")
		}
	}
	return c.Status
}

// Unexpand converts spaces to tabs.
func Unexpand(c *command.Call) int {
	o := c.Parse("a,all first-only t,tabs= #")
	stops := tabStops(c, o)
	all := (o.On("a") || o.On("t")) && !o.On("first-only")
	l := c.Lines(c.Concat(o.Args), '\n')
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		column, pending := 0, 0
		leading := true
		for _, r := range string(line) {
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
		if l.Whole {
			c.Print("\n")
		}
	}
	return c.Status
}

// Fold wraps lines at a width.
func Fold(c *command.Call) int {
	o := c.Parse("b,bytes s,spaces w,width= #")
	width := c.Int(o.Value("w", o.Value("#", "80")), 1, math.MaxInt, "invalid number of columns: %s")
	l := c.Lines(c.Concat(o.Args), '\n')
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		rest := string(line)
		for {
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
		if l.Whole {
			c.Print("\n")
		}
	}
	return c.Status
}

// Fmt is fmt: it fills paragraphs to a width.
func Fmt(c *command.Call) int {
	o := c.Parse("# c,crown-margin t,tagged-paragraph !p,prefix= s,split-only u,uniform-spacing w,width= !g,goal=")
	width := c.Int(o.Value("w", o.Value("#", "75")), 1, 2500, "invalid width: %s")
	f := &filler{c: c, width: width, goal: width * 187 / 200, uniform: o.On("u")}
	l := c.Lines(c.Concat(o.Args), '\n')
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		s := command.ExpandTabs(string(line), []int{8})
		trimmed := strings.TrimLeft(s, " ")
		indent := len(s) - len(trimmed)
		if trimmed == "" {
			f.flush()
			c.Print("\n")
			continue
		}
		if len(f.words) > 0 && (indent != f.indent || o.On("s")) {
			f.flush()
		}
		f.indent = indent
		f.add(trimmed)
	}
	f.flush()
	return c.Status
}

// filler collects a paragraph and breaks it so that the lines are close to the
// goal: the sum of the squares of what is missing is the least.
type filler struct {
	c           *command.Call
	width, goal int
	indent      int
	uniform     bool
	words       []string
	spaces      []int // after each word
}

func (f *filler) add(line string) {
	for len(line) > 0 {
		end := strings.IndexByte(line, ' ')
		if end < 0 {
			end = len(line)
		}
		rest := strings.TrimLeft(line[end:], " ")
		space := len(line) - end - len(rest)
		word := line[:end]
		sentence := strings.ContainsAny(word[len(word)-1:], ".?!")
		switch {
		case rest == "" && sentence, f.uniform && space > 1 && sentence:
			space = 2
		case rest == "" || f.uniform:
			space = 1
		}
		f.words, f.spaces = append(f.words, word), append(f.spaces, space)
		line = rest
	}
}

func (f *filler) flush() {
	n := len(f.words)
	if n == 0 {
		return
	}
	cost, next, lengths := make([]int, n+1), make([]int, n+1), make([]int, n+1)
	last := func(i int, set string) bool { return strings.IndexByte(set, f.words[i][len(f.words[i])-1]) >= 0 }
	final := func(i int) bool { return i == n-1 || last(i, ".?!") && f.spaces[i] > 1 }
	for i := n - 1; i >= 0; i-- {
		length := f.indent
		cost[i] = 1 << 60
		for j := i; j < n; j++ {
			length += len(f.words[j])
			if length > f.width && j > i {
				break
			}
			here := 0
			if j < n-1 {
				missing := f.goal - length
				here = missing * missing * 100
				if next[j+1] < n {
					here += (length - lengths[j+1]) * (length - lengths[j+1]) * 50
				}
			}
			if total := here + cost[j+1]; total < cost[i] {
				cost[i], next[i], lengths[i] = total, j+1, length
			}
			length += f.spaces[j]
		}
		// What it costs to begin a line with this word.
		cost[i] += 4900
		switch {
		case i == 0:
		case final(i - 1):
			cost[i] -= 2500
		case last(i-1, ".?!"):
			cost[i] += 360000
		case last(i-1, ",;:)]}"):
			cost[i] -= 1600
		case i > 1 && final(i-2):
			cost[i] += 40000 / (len(f.words[i-1]) + 2)
		}
		if final(i) {
			cost[i] += 22500 / (len(f.words[i]) + 2)
		}
	}
	for i := 0; i < n; i = next[i] {
		f.c.Print(strings.Repeat(" ", f.indent))
		for j := i; j < next[i]; j++ {
			f.c.Print(f.words[j])
			if j < next[i]-1 {
				f.c.Print(strings.Repeat(" ", f.spaces[j]))
			}
		}
		f.c.Print("\n")
	}
	f.words, f.spaces = nil, nil
}

// Column lays lines out in columns.
func Column(c *command.Call) int {
	o := c.Parse("t,table s,separator= o,output-separator= c,output-width= x,fillrows !n,table-noheadings N,table-columns= R,table-right= !e,header-repeat !L,keep-empty-lines !J,json")
	var rows []string
	l := c.Lines(c.Concat(o.Args), '\n')
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		if len(strings.TrimSpace(string(line))) > 0 {
			c.Must(c.Reserve(int64(len(line)) + 32))
			rows = append(rows, string(line))
		}
	}
	if len(rows) == 0 {
		return c.Status
	}
	if o.On("t") {
		columnTable(c, o, rows)
	} else {
		columnFill(c, o, rows)
	}
	return c.Status
}

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
	sep := o.Value("s", "")
	var table [][]string
	var names []string
	if s := o.Value("N", ""); s != "" {
		names = strings.Split(s, ",")
		table = append(table, names)
	}
	right := columnSet(c, o.Value("R", ""), names)
	for _, r := range rows {
		if sep == "" {
			table = append(table, strings.Fields(r))
		} else {
			table = append(table, splitAny(r, sep))
		}
	}
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
		for i, cell := range r {
			blanks := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if right(i) {
				cell, blanks = blanks+cell, ""
			}
			if c.Print(cell); i < len(widths)-1 {
				c.Print(blanks + between)
			}
		}
		for i := len(r); i < len(widths); i++ {
			if c.Print(strings.Repeat(" ", widths[i])); i < len(widths)-1 {
				c.Print(between)
			}
		}
		c.Print("\n")
	}
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
