package commands

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
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
			s.from, ok1 = atoi(from)
		}
		if to != "" {
			s.to, ok2 = atoi(to)
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
	slices.SortFunc(ranges, func(a, b span) int { return cmp.Compare(a.from, b.from) })
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

func cut(c *call) int {
	o, status := c.options("b,bytes= c,characters= d,delimiter= f,fields= n s,only-delimited z,zero-terminated complement output-delimiter=")
	if o == nil {
		return status
	}
	lists := append(append(o.values("b"), o.values("c")...), o.values("f")...)
	switch {
	case len(lists) == 0:
		return c.usage(1, "you must specify a list of bytes, characters, or fields")
	case len(lists) > 1:
		return c.usage(1, "only one list may be specified")
	}
	fields := o.on("f")
	delim := o.value("d", "\t")
	switch {
	case !fields && o.on("d"):
		return c.usage(1, "an input delimiter may be specified only when operating on fields")
	case !fields && o.on("s"):
		return c.usage(1, "suppressing non-delimited lines makes sense\n\tonly when operating on fields")
	case len(delim) > 1:
		return c.usage(1, "the delimiter must be a single character")
	case delim == "":
		delim = "\x00"
	}
	ranges, bad := spans(lists[0])
	switch {
	case bad == "decreasing":
		return c.usage(1, "invalid decreasing range")
	case bad == "-":
		return c.usage(1, "invalid range with no endpoint: -")
	case bad == "0" && fields:
		return c.usage(1, "fields are numbered from 1")
	case bad == "0":
		return c.usage(1, "byte/character positions are numbered from 1")
	case bad != "" && fields:
		return c.usage(1, "invalid field value %s", quote(bad))
	case bad != "":
		return c.usage(1, "invalid byte/character position %s", quote(bad))
	}
	if o.on("complement") {
		ranges = complement(ranges)
	}
	end := lineEnd(o.on("z"))
	between, joined := o.value("output-delimiter", ""), o.on("output-delimiter")
	if fields && !joined {
		between = delim
	}
	c.each(o.args, func(name string, r io.Reader) error {
		l := c.lines(r, end)
		for line, ok := l.next(); ok; line, ok = l.next() {
			if fields {
				if bytes.IndexByte(line, delim[0]) < 0 {
					if o.on("s") {
						continue
					}
					c.out.Write(line)
				} else {
					cutFields(c, line, ranges, delim[0], between)
				}
			} else {
				cutBytes(c, line, ranges, between)
			}
			c.out.WriteByte(end)
		}
		return l.err
	})
	return c.status
}

func cutFields(c *call, line []byte, ranges []span, delim byte, between string) {
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
					c.out.WriteString(between)
				}
				some = true
				c.out.Write(field)
			}
			if at < 0 {
				return
			}
			line = line[at+1:]
		}
	}
}

func cutBytes(c *call, line []byte, ranges []span, between string) {
	for i, r := range ranges {
		if r.from > len(line) {
			return
		}
		if i > 0 {
			c.out.WriteString(between)
		}
		c.out.Write(line[r.from-1 : min(r.to, len(line))])
	}
}

func paste(c *call) int {
	o, status := c.options("d,delimiters= s,serial z,zero-terminated")
	if o == nil {
		return status
	}
	delims := pasteDelims(o.value("d", "\t"))
	end := lineEnd(o.on("z"))
	names := o.args
	if len(names) == 0 {
		names = []string{"-"}
	}
	if o.on("s") {
		c.each(names, func(name string, r io.Reader) error {
			l, i := c.lines(r, end), 0
			for line, ok := l.next(); ok; line, ok = l.next() {
				if i > 0 {
					c.print(delims[(i-1)%len(delims)])
				}
				c.out.Write(line)
				i++
			}
			c.out.WriteByte(end)
			return l.err
		})
		return c.status
	}
	var files []*lines
	for _, name := range names {
		r, err := c.open(name)
		if err != nil {
			return c.die(1, "%s: %s", quotef(name), text(err))
		}
		c.files = append(c.files, r)
		if name == "-" {
			files = append(files, c.lines(c.in(), end))
		} else {
			files = append(files, c.lines(r, end))
		}
	}
	for !c.stopped() {
		var row bytes.Buffer
		some := false
		for i, l := range files {
			if i > 0 {
				row.WriteString(delims[(i-1)%len(delims)])
			}
			if l != nil {
				line, ok := l.next()
				if some = some || ok; !ok {
					c.failed(names[i], l.err)
					if names[i] != "-" {
						files[i] = nil
					}
				}
				row.Write(line)
			}
		}
		if !some {
			break
		}
		row.WriteByte(end)
		c.out.Write(row.Bytes())
	}
	return c.status
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

func comm(c *call) int {
	o, status := c.twoFiles("1 2 3 z,zero-terminated check-order nocheck-order output-delimiter= total")
	if o == nil {
		return status
	}
	end := lineEnd(o.on("z"))
	var in [2]sorted
	for i, name := range o.args {
		r, err := c.open(name)
		if err != nil {
			return c.die(1, "%s: %s", quotef(name), text(err))
		}
		c.files = append(c.files, r)
		in[i] = sorted{c: c, l: c.lines(r, end), number: i + 1, check: !o.on("nocheck-order")}
		in[i].step()
	}
	sep := o.value("output-delimiter", "\t")
	var totals [3]int
	for (in[0].ok || in[1].ok) && !c.stopped() {
		which := 2
		if !in[1].ok || in[0].ok && bytes.Compare(in[0].line, in[1].line) < 0 {
			which = 0
		} else if !in[0].ok || bytes.Compare(in[0].line, in[1].line) > 0 {
			which = 1
		}
		totals[which]++
		line := in[which&1].line
		if !o.on(strconv.Itoa(which + 1)) {
			for i := range which {
				if !o.on(strconv.Itoa(i + 1)) {
					c.print(sep)
				}
			}
			c.out.Write(line)
			c.out.WriteByte(end)
		}
		if which != 1 {
			in[0].step()
		}
		if which != 0 {
			in[1].step()
		}
	}
	if o.on("total") {
		c.printf("%d%s%d%s%d%stotal%c", totals[0], sep, totals[1], sep, totals[2], sep, end)
	}
	if in[0].bad || in[1].bad {
		c.fail("input is not in sorted order")
	}
	return c.status
}

// sorted reads lines that should be in order.
type sorted struct {
	c      *call
	l      *lines
	line   []byte
	ok     bool
	number int
	check  bool
	bad    bool
}

func (s *sorted) step() {
	before := slices.Clone(s.line)
	s.line, s.ok = s.l.next()
	if s.ok && s.check && !s.bad && bytes.Compare(before, s.line) > 0 {
		s.bad = true
		s.c.fail("file %d is not in sorted order", s.number)
	}
}
