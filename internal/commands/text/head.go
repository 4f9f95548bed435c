package text

import (
	"bytes"
	"io"
	"slices"

	"coderunner/internal/commands/command"
)

// headCount is a count of head and tail: a number with an optional multiplier
// and sign.
func headCount(s string) (sign byte, n int64, ok bool) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[0], s[1:]
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, 0, false
	}
	n, ok = command.Size(s)
	return sign, n, ok
}

// portion reads -n, -c and -NUMBER of head and tail.
func portion(c *command.Call, o *command.Options) (sign byte, n int64, inBytes, ok bool) {
	name, unit := o.Last("n", "c", "#"), "lines"
	if name == "" {
		return 0, 10, false, true
	}
	if name == "c" {
		unit = "bytes"
	}
	if sign, n, ok = headCount(o.Value(name, "")); !ok && name != "#" {
		c.Errorf("invalid number of %s: %s", unit, command.Quote(o.Value(name, "")))
	}
	return sign, n, name == "c", ok || name == "#"
}

func Head(c *command.Call) int {
	o := c.Parse("# n,lines= c,bytes= q,quiet,silent v,verbose z,zero-terminated")
	sign, n, inBytes, ok := portion(c, o)
	if !ok {
		return 1
	}
	h := headers{c: c, on: o.Last("q", "v") == "v" || len(o.Args) > 1 && !o.On("q")}
	delim := command.LineEnd(o.On("z"))
	c.Each(o.Args, func(name string, r io.Reader) error {
		h.print(name)
		switch {
		case inBytes && sign != '-':
			_, err := io.CopyN(c.Out, r, n)
			return notEOF(err)
		case inBytes:
			return butLast(c, r, n)
		case sign == '-':
			return butLastLines(c, r, n, delim)
		}
		l := c.Lines(r, delim)
		for range n {
			line, ok := l.Next()
			if !ok {
				break
			}
			c.Out.Write(line)
			if l.Whole {
				c.Out.WriteByte(delim)
			}
		}
		return l.Err
	})
	return c.Status
}

func notEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// headers prints the "==> name <==" lines of head and tail.
type headers struct {
	c    *command.Call
	on   bool
	some bool
}

func (h *headers) print(name string) {
	if !h.on {
		return
	}
	if name == "-" {
		name = "standard input"
	}
	if h.some {
		h.c.Print("\n")
	}
	h.some = true
	h.c.Printf("==> %s <==\n", name)
}

// butLast copies all but the last n bytes.
func butLast(c *command.Call, r io.Reader, n int64) error {
	data, err := c.ReadAll(r)
	c.Out.Write(data[:max(0, int64(len(data))-n)])
	return err
}

// butLastLines copies all but the last n lines.
func butLastLines(c *command.Call, r io.Reader, n int64, delim byte) error {
	data, err := c.ReadAll(r)
	end := len(data)
	for ; n > 0 && end > 0; n-- {
		end = bytes.LastIndexByte(data[:end-1], delim) + 1
	}
	c.Out.Write(data[:end])
	return err
}

func Tail(c *command.Call) int {
	// The old form: tail +3 file.
	if len(c.Args) > 0 && len(c.Args[0]) > 1 && c.Args[0][0] == '+' {
		if _, ok := command.Atoi(c.Args[0][1:]); ok {
			c.Args = append([]string{"-n", c.Args[0]}, c.Args[1:]...)
		}
	}
	o := c.Parse("# n,lines= c,bytes= q,quiet,silent v,verbose z,zero-terminated !f,follow=? !F s,sleep-interval= pid= retry max-unchanged-stats=")
	sign, n, inBytes, ok := portion(c, o)
	if !ok {
		return 1
	}
	h := headers{c: c, on: o.Last("q", "v") == "v" || len(o.Args) > 1 && !o.On("q")}
	delim := command.LineEnd(o.On("z"))
	c.Each(o.Args, func(name string, r io.Reader) error {
		h.print(name)
		switch {
		case sign == '+' && inBytes:
			if _, err := io.CopyN(io.Discard, r, max(0, n-1)); err != nil {
				return notEOF(err)
			}
			_, err := io.Copy(c.Out, r)
			return err
		case sign == '+':
			l := c.Lines(r, delim)
			for i := int64(1); i < n; i++ {
				if _, ok := l.Next(); !ok {
					return l.Err
				}
			}
			_, err := io.Copy(c.Out, l.R)
			return err
		}
		return lastPart(c, r, n, inBytes, delim)
	})
	return c.Status
}

// lastPart prints the last n bytes or lines. It holds twice as much at most.
func lastPart(c *command.Call, r io.Reader, n int64, inBytes bool, delim byte) error {
	var kept []byte
	var charged int64
	cut := func() {
		if inBytes {
			kept = kept[max(0, int64(len(kept))-n):]
			return
		}
		end := len(kept)
		if end > 0 && kept[end-1] == delim {
			end--
		}
		for i := int64(0); i < n; i++ {
			at := bytes.LastIndexByte(kept[:end], delim)
			if at < 0 {
				return
			}
			end = at
		}
		if n > 0 {
			end++
		} else {
			end = len(kept)
		}
		kept = kept[end:]
	}
	buf := make([]byte, command.CopySize)
	limit := 4 * command.CopySize
	for {
		m, err := r.Read(buf)
		if need := int64(2 * (len(kept) + m)); need > charged {
			if err := c.Reserve(need - charged); err != nil {
				return err
			}
			charged = need
		}
		kept = append(kept, buf[:m]...)
		if err != nil || len(kept) > limit {
			cut()
			kept = slices.Clone(kept)
			limit = 2*len(kept) + 4*command.CopySize
		}
		if err == io.EOF {
			_, err = c.Out.Write(kept)
			return err
		}
		if err != nil {
			return err
		}
	}
}
