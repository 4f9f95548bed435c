package commands

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// newWriter buffers writes to a file.
func newWriter(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(w, copySize) }

func uniq(c *call) int {
	o, status := c.options("c,count d,repeated D f,skip-fields= i,ignore-case s,skip-chars= u,unique w,check-chars= z,zero-terminated all-repeated=? group=?")
	if o == nil {
		return status
	}
	if len(o.args) > 2 {
		return c.extra(o.args[2])
	}
	fields, ok1 := atoi(o.value("f", "0"))
	skip, ok2 := atoi(o.value("s", "0"))
	width, ok3 := atoi(o.value("w", "2147483647"))
	switch {
	case !ok1:
		return c.die(1, "%s: invalid number of fields to skip", o.value("f", ""))
	case !ok2:
		return c.die(1, "%s: invalid number of bytes to skip", o.value("s", ""))
	case !ok3:
		return c.die(1, "%s: invalid number of bytes to compare", o.value("w", ""))
	}
	name := "-"
	if len(o.args) > 0 {
		name = o.args[0]
	}
	r, err := c.open(name)
	if err != nil {
		return c.die(1, "%s: %s", quotef(name), text(err))
	}
	defer r.Close()
	out := c.out
	if len(o.args) > 1 && o.args[1] != "-" {
		f, err := c.create(o.args[1])
		if err != nil {
			return c.die(1, "%s: %s", quotef(o.args[1]), text(err))
		}
		defer f.Close()
		out = newWriter(f)
		defer out.Flush()
	}
	u := &uniqState{c: c, o: o, out: out, end: lineEnd(o.on("z")), all: o.on("D") || o.on("all-repeated"), separate: o.value("all-repeated", "none")}
	if o.on("group") {
		if u.group = o.value("group", ""); u.group == "" {
			u.group = "separate"
		}
	}
	key := func(line []byte) []byte {
		for range fields {
			line = bytes.TrimLeft(line, " \t")
			at := bytes.IndexAny(line, " \t")
			if at < 0 {
				return nil
			}
			line = line[at:]
		}
		line = line[min(skip, len(line)):]
		return line[:min(width, len(line))]
	}
	l := c.lines(r, u.end)
	for line, ok := l.next(); ok; line, ok = l.next() {
		a, b := key(u.line), key(line)
		if u.count > 0 && (bytes.Equal(a, b) || o.on("i") && bytes.EqualFold(a, b)) {
			u.same(line)
			continue
		}
		u.finish()
		u.line = append(u.line[:0], line...)
		u.count = 1
		if u.group != "" {
			if u.printed && u.group != "append" || u.group == "prepend" || u.group == "both" && !u.printed {
				out.WriteByte(u.end)
			}
			u.print(line)
		}
	}
	u.finish()
	if u.group == "both" && u.printed {
		out.WriteByte(u.end)
	}
	c.failed(name, l.err)
	return c.status
}

type uniqState struct {
	c        *call
	o        *options
	out      *bufio.Writer
	end      byte
	line     []byte
	count    int
	all      bool
	separate string
	group    string
	printed  bool
}

func (u *uniqState) print(line []byte) {
	u.out.Write(line)
	u.out.WriteByte(u.end)
	u.printed = true
}

// same takes another line of a group.
func (u *uniqState) same(line []byte) {
	u.count++
	switch {
	case u.group != "":
		u.print(line)
	case u.all:
		if u.count == 2 {
			if u.separate == "prepend" || u.separate == "separate" && u.printed {
				u.out.WriteByte(u.end)
			}
			u.print(u.line)
		}
		u.print(line)
	}
}

// finish prints the group that has ended.
func (u *uniqState) finish() {
	if u.group == "append" && u.count > 0 {
		u.out.WriteByte(u.end)
	}
	if u.count == 0 || u.all || u.group != "" || u.o.on("d") && u.count == 1 || u.o.on("u") && u.count > 1 {
		return
	}
	if u.o.on("c") {
		pad := []byte("       ")
		digits := []byte{}
		for n := u.count; n > 0; n /= 10 {
			digits = append(digits, byte('0'+n%10))
		}
		slices.Reverse(digits)
		u.out.Write(pad[:max(0, 7-len(digits))])
		u.out.Write(digits)
		u.out.WriteByte(' ')
	}
	u.print(u.line)
}

func shuf(c *call) int {
	o, status := c.options("e,echo i,input-range= n,head-count= o,output= r,repeat z,zero-terminated random-source=")
	if o == nil {
		return status
	}
	end := lineEnd(o.on("z"))
	all, ok := shufLines(c, o, end)
	if !ok {
		return 1
	}
	n := len(all)
	if o.on("n") {
		count, ok := atoi(o.value("n", ""))
		if !ok || count < 0 {
			return c.die(1, "invalid line count: %s", quote(o.value("n", "")))
		}
		n = count
	}
	choose := func(n int) int { return rand.IntN(n) }
	if name := o.value("random-source", ""); name != "" {
		f, err := c.open(name)
		if err != nil {
			return c.die(1, "%s: %s", quotef(name), text(err))
		}
		defer f.Close()
		choose = (&dice{r: f}).choose
	}
	out := c.out
	if name := o.value("o", ""); name != "" {
		f, err := c.create(name)
		if err != nil {
			return c.die(1, "%s: %s", quotef(name), text(err))
		}
		defer f.Close()
		out = newWriter(f)
		defer out.Flush()
	}
	if o.on("r") {
		for i := 0; (i < n || !o.on("n")) && !c.stopped() && len(all) > 0; i++ {
			out.Write(all[choose(len(all))])
			if out.WriteByte(end) != nil {
				break
			}
		}
		return c.status
	}
	for i := range min(n, len(all)) {
		j := i + choose(len(all)-i)
		all[i], all[j] = all[j], all[i]
		out.Write(all[i])
		out.WriteByte(end)
	}
	return c.status
}

// dice draws numbers from a file as coreutils does, so that the same file shuffles
// in the same way. After its end all bytes are 0.
type dice struct {
	r         io.Reader
	num, most uint64 // what was drawn and not used yet
}

// choose returns a number below n.
func (d *dice) choose(n int) int {
	for most := uint64(n - 1); ; {
		for d.most < most {
			var b [1]byte
			io.ReadFull(d.r, b[:])
			d.num, d.most = d.num<<8+uint64(b[0]), d.most<<8+0xff
		}
		if d.most == most {
			num := d.num
			d.num, d.most = 0, 0
			return int(num)
		}
		excess := d.most - most
		last := d.most - excess%uint64(n)
		if d.num <= last {
			num := d.num % uint64(n)
			d.num, d.most = d.num/uint64(n), excess/uint64(n)
			return int(num)
		}
		d.num, d.most = d.num-last-1, excess%uint64(n)-1
	}
}

// shufLines returns what is to be shuffled: a range, the operands or lines.
func shufLines(c *call, o *options, end byte) (all [][]byte, ok bool) {
	switch {
	case o.on("i"):
		lo, hi, ok := shufRange(o.value("i", ""))
		if !ok {
			c.errorf("invalid input range: %s", quote(o.value("i", "")))
			return nil, false
		}
		if err := c.reserve((int64(min(hi-lo, 1<<40)) + 1) * 48); err != nil {
			c.errorf("%s", err)
			return nil, false
		}
		for i := range hi - lo + 1 {
			all = append(all, appendInt(nil, lo+i))
		}
	case o.on("e"):
		for _, a := range o.args {
			all = append(all, []byte(a))
		}
	default:
		name := "-"
		if len(o.args) > 1 {
			c.extra(o.args[1])
			return nil, false
		} else if len(o.args) == 1 {
			name = o.args[0]
		}
		data, err := c.readFile(name)
		if err != nil {
			c.errorf("%s: %s", quotef(name), text(err))
			return nil, false
		}
		if err := c.reserve(int64(24 * (bytes.Count(data, []byte{end}) + 1))); err != nil {
			c.errorf("%s", err)
			return nil, false
		}
		for len(data) > 0 {
			line, rest, _ := bytes.Cut(data, []byte{end})
			all, data = append(all, line), rest
		}
	}
	return all, true
}

// shufRange parses LO-HI.
func shufRange(s string) (lo, hi int, ok bool) {
	a, b, dash := strings.Cut(s, "-")
	lo, ok1 := atoi(a)
	hi, ok2 := atoi(b)
	return lo, hi, dash && ok1 && ok2 && lo >= 0 && hi >= lo-1
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
