package text

import (
	"io"

	"coderunner/internal/userland/commands/command"
)

// Strings is strings.
func Strings(c *command.Call) int {
	o := c.Parse("# a,all n,bytes= t,radix= !f,print-file-name")
	least, ok := command.Atoi(o.Value("n", o.Value("#", "4")))
	if !ok || least < 1 {
		return c.Die(1, "invalid minimum string length %s", o.Value("n", ""))
	}
	c.Each(o.Args, func(name string, r io.Reader) error {
		var run []byte
		offset, start := int64(0), int64(0)
		flush := func() {
			if len(run) >= least {
				if f := map[string]string{"d": "%7d ", "o": "%7o ", "x": "%7x "}[o.Value("t", "")]; f != "" {
					c.Printf(f, start)
				}
				c.Out.Write(run)
				c.Print("\n")
			}
			run = run[:0]
		}
		var err error
		buf := make([]byte, command.CopySize)
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
	return c.Status
}
