package commands

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// xxd makes a hex dump, or with -r undoes one.
func xxd(c *call) int {
	o, status := c.options("!a b c,cols= e g= i l,len= o= p,ps,plain,postscript r,revert s,seek= u,uppercase")
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
	if o.on("i") {
		return xxdInclude(c, in, name, int(cols))
	}
	c.blocks(in, int(cols), func(b []byte) bool {
		if o.on("p") {
			fmt.Fprintf(out, strings.ReplaceAll(format, "02", "")+"\n", b)
		} else {
			fmt.Fprintf(out, "%08x: %s\n", offset+number("o", 0), xxdLine(b, int(cols), int(group), format, o.on("e")))
		}
		offset += int64(len(b))
		return true
	})
	return c.status
}

// xxdLine returns a line without its address; swapped: each group from its end.
func xxdLine(b []byte, cols, group int, format string, swapped bool) string {
	var line strings.Builder
	width := len(fmt.Sprintf(format, 0))
	for i := range cols {
		at := i
		if swapped {
			at = i/group*group + group - 1 - i%group
		}
		if at < len(b) {
			fmt.Fprintf(&line, format, b[at])
		} else {
			line.WriteString(strings.Repeat(" ", width))
		}
		if (i+1)%group == 0 || i == cols-1 {
			line.WriteByte(' ')
		}
	}
	line.WriteByte(' ')
	for _, ch := range b {
		line.WriteByte(printable(ch))
	}
	return line.String()
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
