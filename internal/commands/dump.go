package commands

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// blocks calls f with each block of n bytes of the inputs, the last one shorter.
func (c *call) blocks(r io.Reader, n int, f func(block []byte) bool) {
	buf := make([]byte, n)
	for !c.stopped() {
		m, err := io.ReadFull(r, buf)
		if m > 0 && !f(buf[:m]) || err != nil {
			return
		}
	}
}

// xxd makes a hex dump, or with -r undoes one.
func xxd(c *call) int {
	o, status := c.options("a b c,cols= e g= i l,len= o= p,ps,plain,postscript r,revert s,seek= u,uppercase")
	if o == nil {
		return status
	}
	number := func(name string, none int64) int64 {
		if n, err := strconv.ParseInt(o.value(name, ""), 0, 64); err == nil {
			return n
		}
		return none
	}
	name := "-"
	if len(o.args) > 0 {
		name = o.args[0]
	}
	r, err := c.open(name)
	if err != nil {
		return c.die(2, "%s: %s", name, text(err))
	}
	defer r.Close()
	if o.on("r") {
		return xxdRevert(c, r, o.on("p"))
	}
	out := c.out
	if len(o.args) > 1 {
		f, err := c.create(o.args[1])
		if err != nil {
			return c.die(3, "%s: %s", o.args[1], text(err))
		}
		defer f.Close()
		out = newWriter(f)
		defer out.Flush()
	}
	var in io.Reader = r
	offset := number("s", 0)
	io.CopyN(io.Discard, in, offset)
	if n := number("l", -1); n >= 0 {
		in = io.LimitReader(in, n)
	}
	cols, group := number("c", 16), number("g", 2)
	switch {
	case o.on("p"):
		cols = number("c", 30)
	case o.on("i"):
		cols = number("c", 12)
	case o.on("b"):
		cols, group = number("c", 6), number("g", 1)
	case o.on("e"):
		group = number("g", 4)
	}
	if cols < 1 || cols > 256 {
		cols = 256
	}
	if group < 1 || group > cols {
		group = cols
	}
	format := "%02x"
	switch {
	case o.on("b"):
		format = "%08b"
	case o.on("u"):
		format = "%02X"
	}
	width := len(fmt.Sprintf(format, 0))
	if o.on("i") {
		return xxdInclude(c, in, name, int(cols))
	}
	c.blocks(in, int(cols), func(b []byte) bool {
		if o.on("p") {
			fmt.Fprintf(out, strings.ReplaceAll(format, "02", "")+"\n", b)
			return true
		}
		var line strings.Builder
		fmt.Fprintf(&line, "%08x: ", offset+number("o", 0))
		for i := 0; i < int(cols); i++ {
			at := i
			if o.on("e") {
				at = i/int(group)*int(group) + int(group) - 1 - i%int(group)
			}
			if at < len(b) {
				fmt.Fprintf(&line, format, b[at])
			} else {
				line.WriteString(strings.Repeat(" ", width))
			}
			if (i+1)%int(group) == 0 || i == int(cols)-1 {
				line.WriteByte(' ')
			}
		}
		line.WriteByte(' ')
		for _, ch := range b {
			line.WriteByte(printable(ch))
		}
		fmt.Fprintln(out, line.String())
		offset += int64(len(b))
		return true
	})
	return c.status
}

func printable(b byte) byte {
	if b < ' ' || b > '~' {
		return '.'
	}
	return b
}

func xxdInclude(c *call, r io.Reader, name string, cols int) int {
	var bare = name == "-"
	id := strings.Map(func(r rune) rune {
		if r < 128 && wordByte(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if !bare {
		c.printf("unsigned char %s[] = {\n", id)
	}
	total := 0
	c.blocks(r, cols, func(b []byte) bool {
		if total > 0 {
			c.print(",\n")
		}
		for i, ch := range b {
			sep := ", "
			if i == 0 {
				sep = "  "
			}
			c.printf("%s0x%02x", sep, ch)
		}
		total += len(b)
		return true
	})
	c.print("\n")
	if !bare {
		c.printf("};\nunsigned int %s_len = %d;\n", id, total)
	}
	return c.status
}

func xxdRevert(c *call, r io.Reader, plain bool) int {
	l := c.lines(r, '\n')
	at := int64(0)
	for line, ok := l.next(); ok; line, ok = l.next() {
		if plain {
			c.out.Write(unhex(string(line)))
			continue
		}
		offset, rest, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		want, err := strconv.ParseInt(strings.TrimSpace(offset), 16, 64)
		if err != nil {
			continue
		}
		if body, _, two := strings.Cut(strings.TrimPrefix(rest, " "), "  "); two {
			rest = body
		}
		if want > at { // a gap is zeros
			io.CopyN(c.out, zeros{}, min(want-at, 1<<30))
		}
		b := unhex(rest)
		c.out.Write(b)
		at = want + int64(len(b))
	}
	return c.status
}

// unhex reads pairs of hex digits up to the first other thing.
func unhex(s string) []byte {
	s = strings.ReplaceAll(s, " ", "")
	end := 0
	for end < len(s) && trClasses["xdigit"](int(s[end])) {
		end++
	}
	b, _ := hex.DecodeString(s[:end&^1])
	return b
}

// odType is one output format of od.
type odType struct {
	kind byte // a, c, d, f, o, u or x
	size int
	text bool // the characters at the end of the line
}

func (t odType) width() int {
	switch t.kind {
	case 'a', 'c':
		return 3
	case 'o':
		return (8*t.size + 2) / 3
	case 'x':
		return 2 * t.size
	case 'f':
		return map[int]int{4: 15, 8: 24}[t.size]
	}
	return map[int]int{1: 3, 2: 5, 4: 10, 8: 20}[t.size] + btoi(t.kind == 'd')
}

func (t odType) format(b []byte) string {
	if t.kind == 'c' || t.kind == 'a' {
		return odChar(t.kind, b[0])
	}
	full := make([]byte, 8)
	copy(full, b)
	v := uint64(0)
	for i := 7; i >= 0; i-- {
		v = v<<8 | uint64(full[i])
	}
	bits := uint(64 - 8*t.size)
	switch t.kind {
	case 'd':
		return strconv.FormatInt(int64(v<<bits)>>bits, 10)
	case 'u':
		return strconv.FormatUint(v, 10)
	case 'o':
		return fmt.Sprintf("%0*o", t.width(), v)
	case 'x':
		return fmt.Sprintf("%0*x", t.width(), v)
	}
	if t.size == 4 {
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v))), 'g', -1, 32)
	}
	return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
}

func odChar(kind, b byte) string {
	if kind == 'a' {
		names := strings.Fields("nul soh stx etx eot enq ack bel bs ht nl vt ff cr so si dle dc1 dc2 dc3 dc4 nak syn etb can em sub esc fs gs rs us sp")
		if b &= 0x7f; int(b) < len(names) {
			return names[b]
		} else if b == 0x7f {
			return "del"
		}
		return string(rune(b))
	}
	if at := strings.IndexByte("\x00\a\b\f\n\r\t\v", b); at >= 0 {
		return `\` + "0abfnrtv"[at:at+1]
	}
	if b >= ' ' && b < 0x7f {
		return string(rune(b))
	}
	return fmt.Sprintf("%03o", b)
}

// odTypes parses the argument of -t.
func odTypes(s string) (list []odType, ok bool) {
	for s != "" {
		t := odType{kind: s[0], size: 4}
		s = s[1:]
		switch t.kind {
		case 'a', 'c':
			t.size = 1
		case 'f':
			t.size = 8
		case 'd', 'o', 'u', 'x':
		default:
			return nil, false
		}
		if s != "" && t.kind != 'a' && t.kind != 'c' {
			if n := strings.IndexByte("CSIL", s[0]); n >= 0 {
				t.size, s = []int{1, 2, 4, 8}[n], s[1:]
			} else if n := strings.IndexByte("FD", s[0]); n >= 0 && t.kind == 'f' {
				t.size, s = []int{4, 8}[n], s[1:]
			} else if s[0] >= '0' && s[0] <= '9' {
				t.size, s = int(s[0]-'0'), s[1:]
			}
		}
		if strings.HasPrefix(s, "z") {
			t.text, s = true, s[1:]
		}
		if t.size != 1 && t.size != 2 && t.size != 4 && t.size != 8 || t.kind == 'f' && t.size < 4 {
			return nil, false
		}
		list = append(list, t)
	}
	return list, true
}

func od(c *call) int {
	o, status := c.options("A,address-radix= j,skip-bytes= N,read-bytes= t,format= v,output-duplicates w,width=? a b c d f i l o s x !S,strings=? !endian=")
	if o == nil {
		return status
	}
	var types []odType
	short := map[string]string{"a": "a", "b": "o1", "c": "c", "d": "u2", "f": "f4", "i": "d4", "l": "d8", "o": "o2", "s": "d2", "x": "x2"}
	for _, s := range o.set {
		spec := short[s.name]
		if s.name == "t" {
			spec = s.value
		}
		more, ok := odTypes(spec)
		if !ok {
			return c.die(1, "invalid type string %s", quote(spec))
		}
		types = append(types, more...)
	}
	if types == nil {
		types = []odType{{kind: 'o', size: 2}}
	}
	width := 16
	if o.on("w") {
		if n, ok := atoi(o.value("w", "32")); ok && n > 0 && n <= 4096 {
			width = n
		} else {
			width = 32
		}
	}
	var in io.Reader = c.concat(o.args)
	offset := int64(0)
	if n, ok := size(o.value("j", "0")); ok {
		offset, _ = io.CopyN(io.Discard, in, n)
	}
	if n := o.value("N", ""); n != "" {
		if most, ok := size(n); ok {
			in = io.LimitReader(in, most)
		}
	}
	dump := dumper{c: c, types: types, width: width, offset: offset, all: o.on("v")}
	dump.address = map[string]string{"d": "%07d", "o": "%07o", "x": "%06x", "n": ""}[o.value("A", "o")]
	dump.run(in)
	return c.status
}

// dumper prints the lines of od.
type dumper struct {
	c       *call
	types   []odType
	width   int
	offset  int64
	address string
	all     bool
	before  []byte
	starred bool
}

func (d *dumper) run(in io.Reader) {
	// A unit takes as many columns as the widest of all types needs for it.
	cell := 0
	for _, t := range d.types {
		cell = max(cell, (t.width()+1+t.size-1)/t.size)
	}
	d.c.blocks(in, d.width, func(b []byte) bool {
		if !d.all && len(b) == d.width && bytes.Equal(b, d.before) {
			if !d.starred {
				d.c.print("*\n")
			}
			d.starred = true
			d.offset += int64(len(b))
			return true
		}
		d.before, d.starred = append(d.before[:0], b...), false
		for i, t := range d.types {
			head := ""
			if d.address != "" {
				head = fmt.Sprintf(d.address, d.offset)
			}
			if i > 0 {
				head = strings.Repeat(" ", len(head))
			}
			d.c.print(head)
			pad := cell * t.size
			if len(d.types) == 1 {
				pad = t.width() + 1
			}
			for at := 0; at < len(b); at += t.size {
				d.c.printf("%*s", pad, t.format(b[at:min(len(b), at+t.size)]))
			}
			if t.text {
				d.c.print(strings.Repeat(" ", pad*((d.width-len(b))/t.size)) + "  >")
				for _, ch := range b {
					d.c.out.WriteByte(printable(ch))
				}
				d.c.print("<")
			}
			d.c.print("\n")
		}
		d.offset += int64(len(b))
		return true
	})
	if d.address != "" {
		d.c.printf(d.address+"\n", d.offset)
	}
}

// hexdump is the dump of BSD, in its canonical form with -C.
func hexdump(c *call) int {
	o, status := c.options("C,canonical b c d n,length= o s,skip= v,no-squeezing x !e= !f=")
	if o == nil {
		return status
	}
	var in io.Reader = c.concat(o.args)
	offset := int64(0)
	if n, ok := size(o.value("s", "0")); ok {
		offset, _ = io.CopyN(io.Discard, in, n)
	}
	if n, ok := size(o.value("n", "")); ok && o.on("n") {
		in = io.LimitReader(in, n)
	}
	canonical := o.on("C") || c.name == "hd"
	address := "%07x"
	if canonical {
		address = "%08x"
	}
	var before []byte
	starred := false
	c.blocks(in, 16, func(b []byte) bool {
		if !o.on("v") && len(b) == 16 && bytes.Equal(before, b) {
			if !starred {
				c.print("*\n")
			}
			starred = true
			offset += 16
			return true
		}
		before, starred = append(before[:0], b...), false
		c.printf(address, offset)
		var line strings.Builder
		for i := 0; i < 16; i += 1 + btoi(!canonical && !o.on("b") && !o.on("c")) {
			if canonical && i%8 == 0 {
				line.WriteByte(' ')
			}
			switch {
			case i >= len(b) && (canonical || o.on("b") || o.on("c")):
				line.WriteString(map[bool]string{true: "   ", false: "    "}[canonical])
			case i >= len(b):
				line.WriteString(map[bool]string{true: "        ", false: "     "}[o.on("d") || o.on("o") || o.on("x")])
			case canonical:
				fmt.Fprintf(&line, " %02x", b[i])
			case o.on("b"):
				fmt.Fprintf(&line, " %03o", b[i])
			case o.on("c"):
				fmt.Fprintf(&line, " %3s", odChar('c', b[i]))
			default:
				v := int(b[i])
				if i+1 < len(b) {
					v |= int(b[i+1]) << 8
				}
				switch {
				case o.on("d"):
					fmt.Fprintf(&line, "   %05d", v)
				case o.on("o"):
					fmt.Fprintf(&line, "  %06o", v)
				case o.on("x"):
					fmt.Fprintf(&line, "    %04x", v)
				default:
					fmt.Fprintf(&line, " %04x", v)
				}
			}
		}
		c.print(line.String())
		if canonical {
			c.print("  |")
			for _, ch := range b {
				c.out.WriteByte(printable(ch))
			}
			c.print("|")
		}
		c.print("\n")
		offset += int64(len(b))
		return true
	})
	if offset > 0 {
		c.printf(address+"\n", offset)
	}
	return c.status
}

// printableStrings is strings.
func printableStrings(c *call) int {
	o, status := c.options("# a,all n,bytes= t,radix= f,print-file-name")
	if o == nil {
		return status
	}
	least, ok := atoi(o.value("n", o.value("#", "4")))
	if !ok || least < 1 {
		return c.die(1, "invalid minimum string length %s", o.value("n", ""))
	}
	c.each(o.args, func(name string, r io.Reader) error {
		var run []byte
		offset, start := int64(0), int64(0)
		flush := func() {
			if len(run) >= least {
				if f := map[string]string{"d": "%7d ", "o": "%7o ", "x": "%7x "}[o.value("t", "")]; f != "" {
					c.printf(f, start)
				}
				c.out.Write(run)
				c.print("\n")
			}
			run = run[:0]
		}
		var err error
		buf := make([]byte, copySize)
		for err == nil {
			var n int
			n, err = r.Read(buf)
			for _, b := range buf[:n] {
				if b == '\t' || b >= ' ' && b < 0x7f {
					if len(run) == 0 {
						start = offset
					}
					if run = append(run, b); len(run) > 1<<20 {
						flush()
					}
				} else {
					flush()
				}
				offset++
			}
		}
		flush()
		return notEOF(err)
	})
	return c.status
}
