package text

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// Xxd makes a hex dump, or with -r undoes one.
func Xxd(c *command.Call) int {
	o := c.Parse("!a b c,cols= e g= i l,len= o= p,ps,plain,postscript r,revert s,seek= u,uppercase")
	name := o.Operands("-")[0]
	in, err := c.Open(name)
	c.Need(err, 2, "%s", name)
	defer in.Close()
	if o.On("r") {
		return xxdRevert(c, in, o.On("p"))
	}
	out := c.Output(append(o.Args, "", "")[1], 3, "")
	offset := xxdNumber(o, "s", 0)
	io.CopyN(io.Discard, in, offset)
	most := xxdNumber(o, "l", math.MaxInt64)
	if most < 0 {
		most = math.MaxInt64
	}
	r := io.LimitReader(in, most)
	cols, group, format := xxdLayout(o)
	if o.On("i") {
		return xxdInclude(c, r, name, int(cols))
	}
	blocks(c, r, int(cols), func(b []byte) bool {
		if o.On("p") {
			fmt.Fprintf(out, strings.ReplaceAll(format, "02", "")+"\n", b)
		} else {
			fmt.Fprintf(out, "%08x: %s\n", offset+xxdNumber(o, "o", 0), xxdLine(b, int(cols), int(group), format, o.On("e")))
		}
		offset += int64(len(b))
		return true
	})
	return c.Status
}

// xxdNumber returns the number that an option has, or none.
func xxdNumber(o *command.Options, name string, none int64) int64 {
	n, err := strconv.ParseInt(o.Value(name, ""), 0, 64)
	if err != nil {
		return none
	}
	return n
}

// xxdLayout returns how many bytes a line and a group in it have, and their format.
func xxdLayout(o *command.Options) (cols, group int64, format string) {
	format = "%02x"
	if o.On("b") {
		format = "%08b"
	} else if o.On("u") {
		format = "%02X"
	}
	cols, group = 16, 2
	switch {
	case o.On("p"):
		cols = 30
	case o.On("i"):
		cols = 12
	case o.On("b"):
		cols, group = 6, 1
	case o.On("e"):
		group = 4
	}
	if cols = xxdNumber(o, "c", cols); cols < 1 || cols > 256 {
		cols = 256
	}
	if group = xxdNumber(o, "g", group); group < 1 || group > cols {
		group = cols
	}
	return cols, group, format
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

func xxdInclude(c *command.Call, r io.Reader, name string, cols int) int {
	var bare = name == "-"
	id := strings.Map(func(r rune) rune {
		if r < 128 && regex.WordByte(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if !bare {
		c.Printf("unsigned char %s[] = {\n", id)
	}
	total := 0
	blocks(c, r, cols, func(b []byte) bool {
		if total > 0 {
			c.Print(",\n")
		}
		for i, ch := range b {
			sep := ", "
			if i == 0 {
				sep = "  "
			}
			c.Printf("%s0x%02x", sep, ch)
		}
		total += len(b)
		return true
	})
	c.Print("\n")
	if !bare {
		c.Printf("};\nunsigned int %s_len = %d;\n", id, total)
	}
	return c.Status
}

func xxdRevert(c *command.Call, r io.Reader, plain bool) int {
	l := c.Lines(r, '\n')
	at := int64(0)
	for line := range l.All() {
		if plain {
			c.Out.Write(unhex(string(line)))
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
			io.CopyN(c.Out, command.Zeros{}, min(want-at, 1<<30))
		}
		b := unhex(rest)
		c.Out.Write(b)
		at = want + int64(len(b))
	}
	return c.Status
}

// unhex reads pairs of hex digits up to the first other thing.
func unhex(s string) []byte {
	s = strings.ReplaceAll(s, " ", "")
	end := 0
	for end < len(s) && regex.Classes["xdigit"](int(s[end])) {
		end++
	}
	b, _ := hex.DecodeString(s[:end&^1])
	return b
}
