package commands

import (
	"fmt"
	"strings"
)

func compareFiles(c *call) int {
	o, status := c.options("b,print-bytes i,ignore-initial= l,verbose n,bytes= s,quiet,silent")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.usage(2, "missing operand after 'cmp'")
	}
	a, b := o.args[0], "-"
	if len(o.args) > 1 {
		b = o.args[1]
	}
	limit, ok := int64(1<<62), true
	if n := o.value("n", ""); n != "" {
		if limit, ok = size(n); !ok {
			return c.usage(2, "invalid --bytes value '%s'", n)
		}
	}
	var in [2]*lines
	for i, name := range []string{a, b} {
		r, err := c.open(name)
		if err != nil {
			return c.die(2, "%s: %s", name, text(err))
		}
		defer r.Close()
		in[i] = c.lines(r, '\n')
		skips := strings.Split(o.value("i", "0"), ":")
		if n, ok := size(skips[min(i, len(skips)-1)]); ok {
			in[i].r.Discard(int(min(n, 1<<40)))
		}
	}
	width := 1
	for _, name := range []string{a, b} {
		if st, err := c.stat(name); err == nil {
			width = max(width, len(fmt.Sprint(st.Size)))
		}
	}
	line, last := 1, byte(0)
	for at := int64(1); at <= limit; at++ {
		x, err1 := in[0].r.ReadByte()
		y, err2 := in[1].r.ReadByte()
		switch {
		case err1 != nil && err2 != nil:
			return c.status
		case err1 != nil || err2 != nil:
			short := a
			if err2 != nil {
				short = b
			}
			where := fmt.Sprintf("after byte %d, in line %d", at-1, line)
			switch {
			case o.on("s"):
				return 1
			case at == 1:
				where = "which is empty"
			case o.on("l"):
				where = fmt.Sprintf("after byte %d", at-1)
			case last == '\n':
				where = fmt.Sprintf("after byte %d, line %d", at-1, line-1)
			}
			return c.die(1, "EOF on %s %s", short, where)
		case x != y && o.on("l"):
			c.printf("%*d %3o %3o\n", width, at, x, y)
			c.status = 1
		case x != y:
			if o.on("b") {
				c.printf("%s %s differ: byte %d, line %d is %3o %s %3o %s\n", a, b, at, line, x, visible(x), y, visible(y))
			} else if !o.on("s") {
				c.printf("%s %s differ: byte %d, line %d\n", a, b, at, line)
			}
			return 1
		}
		if last = x; x == '\n' {
			line++
		}
	}
	return c.status
}
