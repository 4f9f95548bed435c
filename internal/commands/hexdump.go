package commands

import (
	"bytes"
	"fmt"
	"io"
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
