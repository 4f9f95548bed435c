package text

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// Uniq filters repeated lines that are adjacent.
func Uniq(c *command.Call) int {
	o := c.Parse("c,count d,repeated D f,skip-fields= i,ignore-case s,skip-chars= u,unique w,check-chars= z,zero-terminated all-repeated=? group=?", 0, 2)
	u := &uniqState{c: c, o: o, end: command.LineEnd(o.On("z")), all: o.On("D") || o.On("all-repeated"), separate: o.Value("all-repeated", "none"), width: math.MaxInt}
	for _, n := range []struct {
		option, what string
		to           *int
	}{{"f", "fields to skip", &u.fields}, {"s", "bytes to skip", &u.skip}, {"w", "bytes to compare", &u.width}} {
		if s := o.Value(n.option, ""); o.On(n.option) {
			var ok bool
			if *n.to, ok = command.Atoi(s); !ok || *n.to < 0 {
				return c.Die(1, "%s: invalid number of %s", s, n.what)
			}
		}
	}
	name, to := "-", ""
	if len(o.Args) > 0 {
		name = o.Args[0]
	}
	if len(o.Args) > 1 && o.Args[1] != "-" {
		to = o.Args[1]
	}
	l := c.Lines(c.Input(name), u.end)
	u.out = c.Output(to, 1, "")
	if o.On("group") {
		u.group = cmp.Or(o.Value("group", ""), "separate")
	}
	for line := range l.All() {
		a, b := u.key(u.line), u.key(line)
		if u.count > 0 && (bytes.Equal(a, b) || o.On("i") && bytes.EqualFold(a, b)) {
			u.same(line)
		} else {
			u.begin(line)
		}
	}
	u.finish()
	if u.group == "both" && u.printed {
		u.out.WriteByte(u.end)
	}
	c.Failed(name, l.Err)
	return c.Status
}

// uniqState is a running uniq.
type uniqState struct {
	c        *command.Call
	o        *command.Options
	fields   int // before what is compared
	skip     int // bytes after these
	width    int // bytes that are compared
	out      *bufio.Writer
	end      byte
	line     []byte
	count    int
	all      bool
	separate string
	group    string
	printed  bool
}

// key is what of a line is compared.
func (u *uniqState) key(line []byte) []byte {
	for range u.fields {
		line = bytes.TrimLeft(line, " \t")
		at := bytes.IndexAny(line, " \t")
		if at < 0 {
			return nil
		}
		line = line[at:]
	}
	line = line[min(u.skip, len(line)):]
	return line[:min(u.width, len(line))]
}

// begin takes the first line of a group.
func (u *uniqState) begin(line []byte) {
	u.finish()
	u.line = append(u.line[:0], line...)
	u.count = 1
	if u.group != "" {
		if u.printed && u.group != "append" || u.group == "prepend" || u.group == "both" && !u.printed {
			u.out.WriteByte(u.end)
		}
		u.print(line)
	}
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
	if u.count == 0 || u.all || u.group != "" || u.o.On("d") && u.count == 1 || u.o.On("u") && u.count > 1 {
		return
	}
	if u.o.On("c") {
		fmt.Fprintf(u.out, "%7d ", u.count)
	}
	u.print(u.line)
}

// Shuf writes the lines of a file in random order.
func Shuf(c *command.Call) int {
	o := c.Parse("e,echo i,input-range= n,head-count= o,output= r,repeat z,zero-terminated random-source=")
	end := command.LineEnd(o.On("z"))
	all := shufLines(c, o, end)
	n := len(all)
	if o.On("n") {
		n = c.Int(o.Value("n", ""), 0, math.MaxInt, "invalid line count: %s")
	}
	choose := rand.IntN
	if name := o.Value("random-source", ""); name != "" {
		choose = (&dice{r: c.Input(name)}).choose
	}
	out := c.Output(o.Value("o", ""), 1, "")
	if o.On("r") {
		for i := 0; (i < n || !o.On("n")) && !c.Stopped() && len(all) > 0; i++ {
			out.Write(all[choose(len(all))])
			if out.WriteByte(end) != nil {
				break
			}
		}
		return c.Status
	}
	for i := range min(n, len(all)) {
		j := i + choose(len(all)-i)
		all[i], all[j] = all[j], all[i]
		out.Write(all[i])
		out.WriteByte(end)
	}
	return c.Status
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
func shufLines(c *command.Call, o *command.Options, end byte) (all [][]byte) {
	switch {
	case o.On("i"):
		lo, hi := shufRange(c, o.Value("i", ""))
		c.Must(c.Reserve((int64(min(hi-lo, 1<<40)) + 1) * 48))
		for i := range hi - lo + 1 {
			all = append(all, strconv.AppendInt(nil, int64(lo+i), 10))
		}
	case o.On("e"):
		for _, a := range o.Args {
			all = append(all, []byte(a))
		}
	default:
		if len(o.Args) > 1 {
			c.Refuse(1, "extra operand %s", command.Quote(o.Args[1]))
		}
		name := o.Operands("-")[0]
		var err error
		if all, err = c.ReadLines(name, end); err != nil {
			c.Exit(1, "%s: %s", command.Quotef(name), command.Text(err))
		}
	}
	return all
}

// shufRange parses LO-HI.
func shufRange(c *command.Call, s string) (lo, hi int) {
	a, b, dash := strings.Cut(s, "-")
	lo, ok1 := command.Atoi(a)
	hi, ok2 := command.Atoi(b)
	if !dash || !ok1 || !ok2 || lo < 0 || hi < lo-1 {
		c.Exit(1, "invalid input range: %s", command.Quote(s))
	}
	return lo, hi
}
