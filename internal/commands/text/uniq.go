package text

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/commands/command"
)

func Uniq(c *command.Call) int {
	o := c.Parse("c,count d,repeated D f,skip-fields= i,ignore-case s,skip-chars= u,unique w,check-chars= z,zero-terminated all-repeated=? group=?", 0, 2)
	fields, ok1 := command.Atoi(o.Value("f", "0"))
	skip, ok2 := command.Atoi(o.Value("s", "0"))
	width, ok3 := command.Atoi(o.Value("w", "2147483647"))
	switch {
	case !ok1:
		return c.Die(1, "%s: invalid number of fields to skip", o.Value("f", ""))
	case !ok2:
		return c.Die(1, "%s: invalid number of bytes to skip", o.Value("s", ""))
	case !ok3:
		return c.Die(1, "%s: invalid number of bytes to compare", o.Value("w", ""))
	}
	name := "-"
	if len(o.Args) > 0 {
		name = o.Args[0]
	}
	r, err := c.Open(name)
	if err != nil {
		return c.Die(1, "%s: %s", command.Quotef(name), command.Text(err))
	}
	defer r.Close()
	out := c.Out
	if len(o.Args) > 1 && o.Args[1] != "-" {
		f, err := c.Create(o.Args[1])
		if err != nil {
			return c.Die(1, "%s: %s", command.Quotef(o.Args[1]), command.Text(err))
		}
		defer f.Close()
		out = command.NewWriter(f)
		defer out.Flush()
	}
	u := &uniqState{c: c, o: o, out: out, end: command.LineEnd(o.On("z")), all: o.On("D") || o.On("all-repeated"), separate: o.Value("all-repeated", "none")}
	if o.On("group") {
		if u.group = o.Value("group", ""); u.group == "" {
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
	l := c.Lines(r, u.end)
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		a, b := key(u.line), key(line)
		if u.count > 0 && (bytes.Equal(a, b) || o.On("i") && bytes.EqualFold(a, b)) {
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
	c.Failed(name, l.Err)
	return c.Status
}

type uniqState struct {
	c        *command.Call
	o        *command.Options
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
	if u.count == 0 || u.all || u.group != "" || u.o.On("d") && u.count == 1 || u.o.On("u") && u.count > 1 {
		return
	}
	if u.o.On("c") {
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

func Shuf(c *command.Call) int {
	o := c.Parse("e,echo i,input-range= n,head-count= o,output= r,repeat z,zero-terminated random-source=")
	end := command.LineEnd(o.On("z"))
	all, ok := shufLines(c, o, end)
	if !ok {
		return 1
	}
	n := len(all)
	if o.On("n") {
		count, ok := command.Atoi(o.Value("n", ""))
		if !ok || count < 0 {
			return c.Die(1, "invalid line count: %s", command.Quote(o.Value("n", "")))
		}
		n = count
	}
	choose := func(n int) int { return rand.IntN(n) }
	if name := o.Value("random-source", ""); name != "" {
		f, err := c.Open(name)
		if err != nil {
			return c.Die(1, "%s: %s", command.Quotef(name), command.Text(err))
		}
		defer f.Close()
		choose = (&dice{r: f}).choose
	}
	out := c.Out
	if name := o.Value("o", ""); name != "" {
		f, err := c.Create(name)
		if err != nil {
			return c.Die(1, "%s: %s", command.Quotef(name), command.Text(err))
		}
		defer f.Close()
		out = command.NewWriter(f)
		defer out.Flush()
	}
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
func shufLines(c *command.Call, o *command.Options, end byte) (all [][]byte, ok bool) {
	switch {
	case o.On("i"):
		lo, hi, ok := shufRange(o.Value("i", ""))
		if !ok {
			c.Errorf("invalid input range: %s", command.Quote(o.Value("i", "")))
			return nil, false
		}
		if err := c.Reserve((int64(min(hi-lo, 1<<40)) + 1) * 48); err != nil {
			c.Errorf("%s", err)
			return nil, false
		}
		for i := range hi - lo + 1 {
			all = append(all, appendInt(nil, lo+i))
		}
	case o.On("e"):
		for _, a := range o.Args {
			all = append(all, []byte(a))
		}
	default:
		name := "-"
		if len(o.Args) > 1 {
			c.Extra(o.Args[1])
			return nil, false
		} else if len(o.Args) == 1 {
			name = o.Args[0]
		}
		data, err := c.ReadFile(name)
		if err != nil {
			c.Errorf("%s: %s", command.Quotef(name), command.Text(err))
			return nil, false
		}
		if err := c.Reserve(int64(24 * (bytes.Count(data, []byte{end}) + 1))); err != nil {
			c.Errorf("%s", err)
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
	lo, ok1 := command.Atoi(a)
	hi, ok2 := command.Atoi(b)
	return lo, hi, dash && ok1 && ok2 && lo >= 0 && hi >= lo-1
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
