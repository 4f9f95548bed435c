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

// hexdumpLine returns a line without its address.
func hexdumpLine(o *options, canonical bool, b []byte) string {
	var line strings.Builder
	single := canonical || o.on("b") || o.on("c")
	for i := 0; i < 16; i += 1 + btoi(!single) {
		if canonical && i%8 == 0 {
			line.WriteByte(' ')
		}
		switch {
		case i >= len(b) && single:
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
			format := " %04x"
			switch {
			case o.on("d"):
				format = "   %05d"
			case o.on("o"):
				format = "  %06o"
			case o.on("x"):
				format = "    %04x"
			}
			fmt.Fprintf(&line, format, v)
		}
	}
	return line.String()
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
		c.print(hexdumpLine(o, canonical, b))
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
