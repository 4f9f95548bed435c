package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// blocks calls f with each block of n bytes of the inputs, the last one shorter.
func blocks(c *command.Call, r io.Reader, n int, f func(block []byte) bool) {
	buf := make([]byte, n)
	for !c.Stopped() {
		m, err := io.ReadFull(r, buf)
		if m > 0 && !f(buf[:m]) || err != nil {
			return
		}
	}
}

// hexdumpLine returns a line without its address.
func hexdumpLine(o *command.Options, canonical bool, b []byte) string {
	var line strings.Builder
	single := canonical || o.On("b") || o.On("c")
	for i := 0; i < 16; i += 1 + command.Btoi(!single) {
		if canonical && i%8 == 0 {
			line.WriteByte(' ')
		}
		switch {
		case i >= len(b) && single:
			line.WriteString(map[bool]string{true: "   ", false: "    "}[canonical])
		case i >= len(b):
			line.WriteString(map[bool]string{true: "        ", false: "     "}[o.On("d") || o.On("o") || o.On("x")])
		case canonical:
			fmt.Fprintf(&line, " %02x", b[i])
		case o.On("b"):
			fmt.Fprintf(&line, " %03o", b[i])
		case o.On("c"):
			fmt.Fprintf(&line, " %3s", odChar('c', b[i]))
		default:
			v := int(b[i])
			if i+1 < len(b) {
				v |= int(b[i+1]) << 8
			}
			format := " %04x"
			switch {
			case o.On("d"):
				format = "   %05d"
			case o.On("o"):
				format = "  %06o"
			case o.On("x"):
				format = "    %04x"
			}
			fmt.Fprintf(&line, format, v)
		}
	}
	return line.String()
}

// Hexdump is the dump of BSD, in its canonical form with -C.
func Hexdump(c *command.Call) int {
	o := c.Parse("C,canonical b c d n,length= o s,skip= v,no-squeezing x e= !f=")
	var in io.Reader = c.Concat(o.Args)
	offset := int64(0)
	if n, ok := command.Size(o.Value("s", "0")); ok {
		offset, _ = io.CopyN(io.Discard, in, n)
	}
	if n, ok := command.Size(o.Value("n", "")); ok && o.On("n") {
		in = io.LimitReader(in, n)
	}
	if o.On("e") {
		return hexFormats(c, o, in, offset)
	}
	canonical := o.On("C") || c.Name == "hd"
	address := "%07x"
	if canonical {
		address = "%08x"
	}
	var before []byte
	starred := false
	blocks(c, in, 16, func(b []byte) bool {
		if !o.On("v") && len(b) == 16 && bytes.Equal(before, b) {
			if !starred {
				c.Print("*\n")
			}
			starred = true
			offset += 16
			return true
		}
		before, starred = append(before[:0], b...), false
		c.Printf(address, offset)
		c.Print(hexdumpLine(o, canonical, b))
		if canonical {
			c.Print("  |")
			for _, ch := range b {
				c.Out.WriteByte(printable(ch))
			}
			c.Print("|")
		}
		c.Print("\n")
		offset += int64(len(b))
		return true
	})
	if offset > 0 {
		c.Printf(address+"\n", offset)
	}
	return c.Status
}
