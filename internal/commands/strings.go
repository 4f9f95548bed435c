package commands

import (
	"io"
)

// printableStrings is strings.
func printableStrings(c *call) int {
	o, status := c.options("# a,all n,bytes= t,radix= !f,print-file-name")
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
