package text

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/order"
	"coderunner/internal/userland/commands/command"
)

// span is a range of positions, from 1.
type span struct{ from, to int }

const lastPosition = 1<<62 - 1

// spans parses a list of cut: 1,3-5,7-.
func spans(list string) (ranges []span, bad string) {
	for part := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		from, to, dash := strings.Cut(part, "-")
		s := span{1, lastPosition}
		var ok1, ok2 = true, true
		if from != "" {
			s.from, ok1 = command.Atoi(from)
		}
		if to != "" {
			s.to, ok2 = command.Atoi(to)
		}
		if !dash {
			s.to = s.from
		}
		switch {
		case !ok1 || !ok2:
			return nil, part
		case part == "-":
			return nil, "-"
		case s.from == 0:
			return nil, "0"
		case s.to < s.from:
			return nil, "decreasing"
		}
		ranges = append(ranges, s)
	}
	order.By(ranges, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := ranges[:0]
	for _, r := range ranges {
		if n := len(merged); n > 0 && r.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, r.to)
			continue
		}
		merged = append(merged, r)
	}
	return merged, ""
}

// complement is every position that ranges does not have.
func complement(ranges []span) (rest []span) {
	next := 1
	for _, r := range ranges {
		if r.from > next {
			rest = append(rest, span{next, r.from - 1})
		}
		next = r.to + 1
	}
	if next < lastPosition {
		rest = append(rest, span{next, lastPosition})
	}
	return rest
}

// Cut prints selected parts of each line.
func Cut(c *command.Call) int {
	o := c.Parse("b,bytes= c,characters= d,delimiter= f,fields= n s,only-delimited z,zero-terminated complement output-delimiter=")
	lists := append(append(o.Values("b"), o.Values("c")...), o.Values("f")...)
	switch {
	case len(lists) == 0:
		return c.Usage(1, "you must specify a list of bytes, characters, or fields")
	case len(lists) > 1:
		return c.Usage(1, "only one list may be specified")
	}
	fields, delim := o.On("f"), o.Value("d", "\t")
	switch {
	case !fields && o.On("d"):
		return c.Usage(1, "an input delimiter may be specified only when operating on fields")
	case !fields && o.On("s"):
		return c.Usage(1, "suppressing non-delimited lines makes sense\n\tonly when operating on fields")
	case len(delim) > 1:
		return c.Usage(1, "the delimiter must be a single character")
	case delim == "":
		delim = "\x00"
	}
	ranges, bad := spans(lists[0])
	if bad != "" {
		return c.Usage(1, "%s", cutProblem(bad, fields))
	}
	if o.On("complement") {
		ranges = complement(ranges)
	}
	end := command.LineEnd(o.On("z"))
	between := o.Value("output-delimiter", "")
	if fields && !o.On("output-delimiter") {
		between = delim
	}
	if fields && delim[0] == end { // the lines are the fields
		data, err := c.ReadAll(c.Concat(o.Args))
		c.Must(err)
		cutFields(c, bytes.TrimSuffix(data, []byte{end}), ranges, end, between)
		c.Out.WriteByte(end)
		return c.Status
	}
	c.EachLine(o.Args, end, func(line []byte, _ bool) {
		switch {
		case !fields:
			cutBytes(c, line, ranges, between)
		case bytes.IndexByte(line, delim[0]) >= 0:
			cutFields(c, line, ranges, delim[0], between)
		case o.On("s"):
			return
		default:
			c.Out.Write(line)
		}
		c.Out.WriteByte(end)
	})
	return c.Status
}

// cutProblem is the message for a part of a list that spans refuses.
func cutProblem(bad string, fields bool) string {
	switch {
	case bad == "decreasing":
		return "invalid decreasing range"
	case bad == "-":
		return "invalid range with no endpoint: -"
	case bad == "0" && fields:
		return "fields are numbered from 1"
	case bad == "0":
		return "byte/character positions are numbered from 1"
	case fields:
		return "invalid field value " + command.Quote(bad)
	}
	return "invalid byte/character position " + command.Quote(bad)
}

func cutFields(c *command.Call, line []byte, ranges []span, delim byte, between string) {
	n, some := 1, false
	for _, r := range ranges {
		for ; n <= r.to; n++ {
			at := bytes.IndexByte(line, delim)
			field := line
			if at >= 0 {
				field = line[:at]
			}
			if n >= r.from {
				if some {
					c.Out.WriteString(between)
				}
				some = true
				c.Out.Write(field)
			}
			if at < 0 {
				return
			}
			line = line[at+1:]
		}
	}
}

func cutBytes(c *command.Call, line []byte, ranges []span, between string) {
	for i, r := range ranges {
		if r.from > len(line) {
			return
		}
		if i > 0 {
			c.Out.WriteString(between)
		}
		c.Out.Write(line[r.from-1 : min(r.to, len(line))])
	}
}

// Paste merges the lines of files.
func Paste(c *command.Call) int {
	o := c.Parse("d,delimiters= s,serial z,zero-terminated")
	delims := pasteDelims(o.Value("d", "\t"))
	end := command.LineEnd(o.On("z"))
	if o.On("s") {
		c.Each(o.Args, func(_ string, r io.Reader) error {
			l, i := c.Lines(r, end), 0
			for line := range l.All() {
				if i > 0 {
					c.Print(delims[(i-1)%len(delims)])
				}
				c.Out.Write(line)
				i++
			}
			c.Out.WriteByte(end)
			return l.Err
		})
		return c.Status
	}
	pasteFiles(c, o.Operands("-"), delims, end)
	return c.Status
}

// pasteFiles joins the first lines of all files, the second ones and so on.
func pasteFiles(c *command.Call, names, delims []string, end byte) {
	var files []*command.Lines
	for _, name := range names {
		var r io.Reader = c.In() // one reader, however often it is named
		if name != "-" {
			r = c.Input(name)
		}
		files = append(files, c.Lines(r, end))
	}
	for !c.Stopped() {
		var row bytes.Buffer
		some := false
		for i, l := range files {
			if i > 0 {
				row.WriteString(delims[(i-1)%len(delims)])
			}
			if l != nil {
				line, ok := l.Next()
				if some = some || ok; !ok {
					c.Failed(names[i], l.Err)
					if names[i] != "-" {
						files[i] = nil
					}
				}
				row.Write(line)
			}
		}
		if !some {
			return
		}
		row.WriteByte(end)
		c.Out.Write(row.Bytes())
	}
}

// pasteDelims splits the argument of paste -d; "\0" is no delimiter.
func pasteDelims(s string) (list []string) {
	for i := 0; i < len(s); i++ {
		d := s[i : i+1]
		if d == `\` && i+1 < len(s) {
			i++
			switch s[i] {
			case 'n':
				d = "\n"
			case 't':
				d = "\t"
			case '0':
				d = ""
			default:
				d = s[i : i+1]
			}
		}
		list = append(list, d)
	}
	if list == nil {
		list = []string{""}
	}
	return list
}

// Comm compares two sorted files line by line.
func Comm(c *command.Call) int {
	o := c.Parse("1 2 3 z,zero-terminated check-order nocheck-order output-delimiter= total", 2, 2)
	end := command.LineEnd(o.On("z"))
	var in [2]sorted
	for i, name := range o.Args {
		in[i] = sorted{c: c, l: c.Lines(c.Input(name), end), number: i + 1, check: o.On("check-order"), strict: o.On("check-order")}
		in[i].step()
	}
	sep := o.Value("output-delimiter", "\t")
	var totals [3]int
	for (in[0].ok || in[1].ok) && !c.Stopped() {
		which := 2
		if !in[1].ok || in[0].ok && bytes.Compare(in[0].line, in[1].line) < 0 {
			which = 0
		} else if !in[0].ok || bytes.Compare(in[0].line, in[1].line) > 0 {
			which = 1
		}
		if totals[which]++; which != 2 { // only now does the order matter
			in[0].check = in[0].check || !o.On("nocheck-order")
			in[1].check = in[0].check
		}
		line := in[which&1].line
		if !o.On(strconv.Itoa(which + 1)) {
			for i := range which {
				if !o.On(strconv.Itoa(i + 1)) {
					c.Print(sep)
				}
			}
			c.Out.Write(line)
			c.Out.WriteByte(end)
		}
		if which != 1 {
			in[0].step()
		}
		if which != 0 {
			in[1].step()
		}
	}
	if o.On("total") {
		c.Printf("%d%s%d%s%d%stotal%c", totals[0], sep, totals[1], sep, totals[2], sep, end)
	}
	if in[0].bad || in[1].bad {
		c.Fail("input is not in sorted order")
	}
	return c.Status
}

// sorted reads lines that should be in order.
type sorted struct {
	c      *command.Call
	l      *command.Lines
	line   []byte
	ok     bool
	number int
	check  bool
	strict bool // --check-order: disorder ends the command
	bad    bool
}

func (s *sorted) step() {
	before := slices.Clone(s.line)
	s.line, s.ok = s.l.Next()
	if s.ok && s.check && !s.bad && bytes.Compare(before, s.line) > 0 {
		s.bad = true
		if s.strict {
			s.c.Exit(1, "file %d is not in sorted order", s.number)
		}
		s.c.Fail("file %d is not in sorted order", s.number)
	}
}
