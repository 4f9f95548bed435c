package commands

import (
	"bytes"
	"io"
	"slices"
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
	n, ok = size(s)
	return sign, n, ok
}

// portion reads -n, -c and -NUMBER of head and tail.
func (c *call) portion(o *options) (sign byte, n int64, inBytes, ok bool) {
	name, unit := o.last("n", "c", "#"), "lines"
	if name == "" {
		return 0, 10, false, true
	}
	if name == "c" {
		unit = "bytes"
	}
	if sign, n, ok = headCount(o.value(name, "")); !ok && name != "#" {
		c.errorf("invalid number of %s: %s", unit, quote(o.value(name, "")))
	}
	return sign, n, name == "c", ok || name == "#"
}

func head(c *call) int {
	o, status := c.options("# n,lines= c,bytes= q,quiet,silent v,verbose z,zero-terminated")
	if o == nil {
		return status
	}
	sign, n, inBytes, ok := c.portion(o)
	if !ok {
		return 1
	}
	h := headers{c: c, on: o.last("q", "v") == "v" || len(o.args) > 1 && !o.on("q")}
	delim := lineEnd(o.on("z"))
	c.each(o.args, func(name string, r io.Reader) error {
		h.print(name)
		switch {
		case inBytes && sign != '-':
			_, err := io.CopyN(c.out, r, n)
			return notEOF(err)
		case inBytes:
			return c.butLast(r, n)
		case sign == '-':
			return c.butLastLines(r, n, delim)
		}
		l := c.lines(r, delim)
		for range n {
			line, ok := l.next()
			if !ok {
				break
			}
			c.out.Write(line)
			if l.whole {
				c.out.WriteByte(delim)
			}
		}
		return l.err
	})
	return c.status
}

func notEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func lineEnd(zero bool) byte {
	if zero {
		return 0
	}
	return '\n'
}

// headers prints the "==> name <==" lines of head and tail.
type headers struct {
	c    *call
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
		h.c.print("\n")
	}
	h.some = true
	h.c.printf("==> %s <==\n", name)
}

// butLast copies all but the last n bytes.
func (c *call) butLast(r io.Reader, n int64) error {
	data, err := c.readAll(r)
	c.out.Write(data[:max(0, int64(len(data))-n)])
	return err
}

// butLastLines copies all but the last n lines.
func (c *call) butLastLines(r io.Reader, n int64, delim byte) error {
	data, err := c.readAll(r)
	end := len(data)
	for ; n > 0 && end > 0; n-- {
		end = bytes.LastIndexByte(data[:end-1], delim) + 1
	}
	c.out.Write(data[:end])
	return err
}

func tail(c *call) int {
	// The old form: tail +3 file.
	if len(c.args) > 0 && len(c.args[0]) > 1 && c.args[0][0] == '+' {
		if _, ok := atoi(c.args[0][1:]); ok {
			c.args = append([]string{"-n", c.args[0]}, c.args[1:]...)
		}
	}
	o, status := c.options("# n,lines= c,bytes= q,quiet,silent v,verbose z,zero-terminated !f,follow=? !F s,sleep-interval= pid= retry max-unchanged-stats=")
	if o == nil {
		return status
	}
	sign, n, inBytes, ok := c.portion(o)
	if !ok {
		return 1
	}
	h := headers{c: c, on: o.last("q", "v") == "v" || len(o.args) > 1 && !o.on("q")}
	delim := lineEnd(o.on("z"))
	c.each(o.args, func(name string, r io.Reader) error {
		h.print(name)
		switch {
		case sign == '+' && inBytes:
			if _, err := io.CopyN(io.Discard, r, max(0, n-1)); err != nil {
				return notEOF(err)
			}
			_, err := io.Copy(c.out, r)
			return err
		case sign == '+':
			l := c.lines(r, delim)
			for i := int64(1); i < n; i++ {
				if _, ok := l.next(); !ok {
					return l.err
				}
			}
			_, err := io.Copy(c.out, l.r)
			return err
		}
		return c.lastPart(r, n, inBytes, delim)
	})
	return c.status
}

// lastPart prints the last n bytes or lines. It holds twice as much at most.
func (c *call) lastPart(r io.Reader, n int64, inBytes bool, delim byte) error {
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
	buf := make([]byte, copySize)
	limit := 4 * copySize
	for {
		m, err := r.Read(buf)
		if need := int64(2 * (len(kept) + m)); need > charged {
			if err := c.reserve(need - charged); err != nil {
				return err
			}
			charged = need
		}
		kept = append(kept, buf[:m]...)
		if err != nil || len(kept) > limit {
			cut()
			kept = slices.Clone(kept)
			limit = 2*len(kept) + 4*copySize
		}
		if err == io.EOF {
			_, err = c.out.Write(kept)
			return err
		}
		if err != nil {
			return err
		}
	}
}
