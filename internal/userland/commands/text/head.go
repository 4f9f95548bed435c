package text

import (
	"bytes"
	"io"
	"slices"

	"coderunner/internal/userland/commands/command"
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

// portion is what -n, -c and -NUMBER ask head or tail for, and how they print it.
type portion struct {
	c       *command.Call
	sign    byte
	n       int64
	inBytes bool
	delim   byte
	titled  bool   // "==> name <==" before each file
	some    bool   // a title was printed
	follows string // the option that asks to
}

// newPortion reads the options of head and tail.
func newPortion(c *command.Call, spec string) (*portion, []string) {
	o := c.Parse("# n,lines= c,bytes= q,quiet,silent v,verbose z,zero-terminated " + spec)
	p := &portion{c: c, n: 10, delim: command.LineEnd(o.On("z")), titled: o.Last("q", "v") == "v" || len(o.Args) > 1 && !o.On("q")}
	if p.follows = o.Last("f", "F"); p.follows != "" {
		p.follows = "-" + p.follows
	}
	name, unit := o.Last("n", "c", "#"), "lines"
	if name == "" {
		return p, o.Args
	}
	if p.inBytes = name == "c"; p.inBytes {
		unit = "bytes"
	}
	var ok bool
	if p.sign, p.n, ok = headCount(o.Value(name, "")); !ok && name != "#" {
		c.Exit(1, "invalid number of %s: %s", unit, command.Quote(o.Value(name, "")))
	}
	return p, o.Args
}

// Head prints the first 10 lines of each file.
func Head(c *command.Call) int {
	p, names := newPortion(c, "")
	c.Each(names, func(name string, r io.Reader) error {
		p.title(name)
		switch {
		case p.sign == '-':
			return p.butLast(r)
		case p.inBytes:
			_, err := io.CopyN(c.Out, r, p.n)
			return notEOF(err)
		}
		l := c.Lines(r, p.delim)
		for range p.n {
			line, ok := l.Next()
			if !ok {
				break
			}
			c.Out.Write(line)
			if l.Whole {
				c.Out.WriteByte(p.delim)
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

// title prints the line before a file.
func (p *portion) title(name string) {
	if !p.titled {
		return
	}
	if name == "-" {
		name = "standard input"
	}
	if p.some {
		p.c.Print("\n")
	}
	p.some = true
	p.c.Printf("==> %s <==\n", name)
}

// butLast copies all but the last n bytes or lines.
func (p *portion) butLast(r io.Reader) error {
	data, err := p.c.ReadAll(r)
	end := len(data)
	if p.inBytes {
		end = int(max(0, int64(end)-p.n))
	}
	for n := p.n; !p.inBytes && n > 0 && end > 0; n-- {
		end = bytes.LastIndexByte(data[:end-1], p.delim) + 1
	}
	p.c.Out.Write(data[:end])
	return err
}

// Tail prints the last 10 lines of each file.
func Tail(c *command.Call) int {
	// The old form: tail +3 file.
	if len(c.Args) > 0 && len(c.Args[0]) > 1 && c.Args[0][0] == '+' {
		if _, ok := command.Atoi(c.Args[0][1:]); ok {
			c.Args = append([]string{"-n", c.Args[0]}, c.Args[1:]...)
		}
	}
	p, names := newPortion(c, "f,follow=~ F s,sleep-interval= pid= retry max-unchanged-stats=")
	if p.follows != "" {
		return c.Die(1, "option '%s' is not available in this sandbox: start the writer with & and wait for it, or call tail again in a loop with sleep", p.follows)
	}
	c.Each(names, func(name string, r io.Reader) error {
		p.title(name)
		switch {
		case p.sign == '+' && p.inBytes:
			if _, err := io.CopyN(io.Discard, r, max(0, p.n-1)); err != nil {
				return notEOF(err)
			}
			_, err := io.Copy(c.Out, r)
			return err
		case p.sign == '+':
			l := c.Lines(r, p.delim)
			for i := int64(1); i < p.n; i++ {
				if _, ok := l.Next(); !ok {
					return l.Err
				}
			}
			_, err := io.Copy(c.Out, l.R)
			return err
		}
		return p.last(r)
	})
	return c.Status
}

// end returns the last n bytes or lines of data.
func (p *portion) end(data []byte) []byte {
	switch {
	case p.inBytes:
		return data[max(0, int64(len(data))-p.n):]
	case p.n == 0:
		return nil
	}
	start := len(bytes.TrimSuffix(data, []byte{p.delim}))
	for range p.n {
		if start = bytes.LastIndexByte(data[:start], p.delim); start < 0 {
			return data
		}
	}
	return data[start+1:]
}

// last prints the last n bytes or lines. It holds twice as much at most.
func (p *portion) last(r io.Reader) error {
	var kept []byte
	var charged int64
	c := p.c
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
			kept = slices.Clone(p.end(kept))
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
