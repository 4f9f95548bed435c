package commands

import (
	"strings"
)

// tabStops parses the argument of expand -t.
func tabStops(s string) (stops []int, ok bool) {
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, good := atoi(part)
		if !good || n <= 0 || n > 1<<16 || len(stops) > 0 && n <= stops[len(stops)-1] {
			return nil, false
		}
		stops = append(stops, n)
	}
	return stops, len(stops) > 0
}

// nextStop is the column of the next tab stop.
func nextStop(column int, stops []int) int {
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

// expandTabs replaces tabs by spaces.
func expandTabs(s string, stops []int) string {
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	var b strings.Builder
	column := 0
	for _, r := range s {
		if r == '\t' {
			to := nextStop(column, stops)
			b.WriteString(strings.Repeat(" ", to-column))
			column = to
			continue
		}
		b.WriteRune(r)
		column += cells(r)
	}
	return b.String()
}

func expand(c *call) int {
	o, status := c.options("i,initial t,tabs= #")
	if o == nil {
		return status
	}
	stops, ok := tabStops(o.value("t", o.value("#", "8")))
	if !ok {
		return c.die(1, "tab size contains invalid character(s): %s", quote(o.value("t", "")))
	}
	l := c.lines(c.concat(o.args), '\n')
	for line, ok := l.next(); ok; line, ok = l.next() {
		s := string(line)
		if o.on("i") {
			rest := strings.TrimLeft(s, " \t")
			c.print(expandTabs(s[:len(s)-len(rest)], stops) + rest)
		} else {
			c.print(expandTabs(s, stops))
		}
		if l.whole {
			c.print("\n")
		}
	}
	return c.status
}

func unexpand(c *call) int {
	o, status := c.options("a,all first-only t,tabs= #")
	if o == nil {
		return status
	}
	stops, ok := tabStops(o.value("t", o.value("#", "8")))
	if !ok {
		return c.die(1, "tab size contains invalid character(s): %s", quote(o.value("t", "")))
	}
	all := (o.on("a") || o.on("t")) && !o.on("first-only")
	l := c.lines(c.concat(o.args), '\n')
	for line, ok := l.next(); ok; line, ok = l.next() {
		column, pending := 0, 0
		leading := true
		for _, r := range string(line) {
			if (r == ' ' || r == '\t') && (all || leading) {
				to := column + 1
				if r == '\t' {
					to = nextStop(column, stops)
				}
				pending += to - column
				column = to
				if nextStop(column-1, stops) == column && (pending > 1 || r == '\t') {
					c.print("\t")
					pending = 0
				}
				continue
			}
			c.print(strings.Repeat(" ", pending))
			pending, leading = 0, false
			c.print(string(r))
			column += cells(r)
		}
		c.print(strings.Repeat(" ", pending))
		if l.whole {
			c.print("\n")
		}
	}
	return c.status
}

func fold(c *call) int {
	o, status := c.options("b,bytes s,spaces w,width= #")
	if o == nil {
		return status
	}
	w := o.value("w", o.value("#", "80"))
	width, ok := atoi(w)
	if !ok || width < 1 {
		return c.die(1, "invalid number of columns: %s", quote(w))
	}
	l := c.lines(c.concat(o.args), '\n')
	for line, ok := l.next(); ok; line, ok = l.next() {
		rest := string(line)
		for {
			end, column, space := len(rest), 0, -1
			for i, ch := range []byte(rest) { // GNU's counts bytes
				next := column + 1
				switch {
				case o.on("b"):
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
			if end < len(rest) && o.on("s") && space > 0 {
				end = space
			}
			c.print(rest[:end])
			if rest = rest[end:]; rest == "" {
				break
			}
			c.print("\n")
		}
		if l.whole {
			c.print("\n")
		}
	}
	return c.status
}

// format is fmt: it fills paragraphs to a width.
func format(c *call) int {
	o, status := c.options("# c,crown-margin t,tagged-paragraph !p,prefix= s,split-only u,uniform-spacing w,width= !g,goal=")
	if o == nil {
		return status
	}
	w := o.value("w", o.value("#", "75"))
	width, ok := atoi(w)
	if !ok || width < 1 || width > 2500 {
		return c.die(1, "invalid width: %s", quote(w))
	}
	f := &filler{c: c, width: width, goal: width * 187 / 200, uniform: o.on("u")}
	l := c.lines(c.concat(o.args), '\n')
	for line, ok := l.next(); ok; line, ok = l.next() {
		s := expandTabs(string(line), []int{8})
		trimmed := strings.TrimLeft(s, " ")
		indent := len(s) - len(trimmed)
		if trimmed == "" {
			f.flush()
			c.print("\n")
			continue
		}
		if len(f.words) > 0 && (indent != f.indent || o.on("s")) {
			f.flush()
		}
		f.indent = indent
		f.add(trimmed)
	}
	f.flush()
	return c.status
}

// filler collects a paragraph and breaks it so that the lines are close to the
// goal: the sum of the squares of what is missing is the least.
type filler struct {
	c           *call
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
		f.c.print(strings.Repeat(" ", f.indent))
		for j := i; j < next[i]; j++ {
			f.c.print(f.words[j])
			if j < next[i]-1 {
				f.c.print(strings.Repeat(" ", f.spaces[j]))
			}
		}
		f.c.print("\n")
	}
	f.words, f.spaces = nil, nil
}

func column(c *call) int {
	o, status := c.options("t,table s,separator= o,output-separator= c,output-width= x,fillrows !n,table-noheadings N,table-columns= !R,table-right= !e,header-repeat !L,keep-empty-lines !J,json")
	if o == nil {
		return status
	}
	var rows []string
	l := c.lines(c.concat(o.args), '\n')
	for line, ok := l.next(); ok; line, ok = l.next() {
		if len(strings.TrimSpace(string(line))) > 0 {
			if err := c.reserve(int64(len(line)) + 32); err != nil {
				return c.die(1, "%s", err)
			}
			rows = append(rows, string(line))
		}
	}
	if len(rows) == 0 {
		return c.status
	}
	if o.on("t") {
		columnTable(c, o, rows)
	} else {
		columnFill(c, o, rows)
	}
	return c.status
}

// columnFill prints rows in as many columns as fit.
func columnFill(c *call, o *options, rows []string) {
	width, ok := atoi(o.value("c", c.env("COLUMNS")))
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
			if o.on("x") {
				at = i*cols + j
			}
			if at >= len(rows) {
				break
			}
			for column < j*cell {
				c.print("\t")
				column = column/8*8 + 8
			}
			c.print(rows[at])
			column += len([]rune(rows[at]))
		}
		c.print("\n")
	}
}

// columnTable prints the fields of rows below one another.
func columnTable(c *call, o *options, rows []string) {
	sep := o.value("s", "")
	var table [][]string
	if names := o.value("N", ""); names != "" {
		table = append(table, strings.Split(names, ","))
	}
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
	between := o.value("o", "  ")
	for _, r := range table {
		for i, cell := range r {
			c.print(cell)
			if i < len(r)-1 {
				c.print(strings.Repeat(" ", widths[i]-len([]rune(cell))) + between)
			}
		}
		c.print("\n")
	}
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
