package diff

import (
	"fmt"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// Cmp compares two files byte by byte.
func Cmp(c *command.Call) int {
	o := c.Parse("b,print-bytes i,ignore-initial= l,verbose n,bytes= s,quiet,silent")
	if len(o.Args) == 0 {
		return c.Usage(2, "missing operand after 'cmp'")
	}
	names := append(o.Args, "-")[:2]
	limit, ok := command.Size(o.Value("n", "1E"))
	if !ok {
		return c.Usage(2, "invalid --bytes value '%s'", o.Value("n", ""))
	}
	var in [2]*command.Lines
	width := 1
	for i, name := range names {
		r, err := c.Open(name)
		c.Need(err, 2, "%s", name)
		defer r.Close()
		if st, err := c.Stat(name); err == nil {
			width = max(width, len(fmt.Sprint(st.Size)))
		}
		in[i] = c.Lines(r, '\n')
		skips := strings.Split(o.Value("i", "0"), ":")
		if n, ok := command.Size(skips[min(i, len(skips)-1)]); ok {
			in[i].R.Discard(int(min(n, 1<<40)))
		}
	}
	line, last := 1, byte(0)
	for at := int64(1); at <= limit; at++ {
		x, err1 := in[0].R.ReadByte()
		y, err2 := in[1].R.ReadByte()
		switch {
		case err1 != nil && err2 != nil:
			return c.Status
		case err1 != nil || err2 != nil:
			if !o.On("s") {
				c.Errorf("EOF on %s %s", names[command.Btoi(err2 != nil)], cmpEnd(at, line, last, o.On("l")))
			}
			return 1
		case x != y && o.On("l"):
			c.Printf("%*d %3o %3o\n", width, at, x, y)
			c.Status = 1
		case x != y:
			if o.On("b") {
				c.Printf("%s %s differ: byte %d, line %d is %3o %s %3o %s\n", names[0], names[1], at, line, x, command.Visible(x), y, command.Visible(y))
			} else if !o.On("s") {
				c.Printf("%s %s differ: byte %d, line %d\n", names[0], names[1], at, line)
			}
			return 1
		}
		if last = x; x == '\n' {
			line++
		}
	}
	return c.Status
}

// cmpEnd describes where the shorter file ends: before byte at, which is in a line,
// after the byte last.
func cmpEnd(at int64, line int, last byte, verbose bool) string {
	switch {
	case at == 1:
		return "which is empty"
	case verbose:
		return fmt.Sprintf("after byte %d", at-1)
	case last == '\n':
		return fmt.Sprintf("after byte %d, line %d", at-1, line-1)
	}
	return fmt.Sprintf("after byte %d, in line %d", at-1, line)
}
