package commands

import (
	"io"
	"slices"
)

// splitter is a running split.
type splitter struct {
	c      *call
	o      *options
	r      io.Reader
	prefix string
	digits string // of the suffix
	length int    // of the suffix
	next   int    // the number of the next file
	out    *file
}

// splitFile is split: it writes pieces of a file.
func splitFile(c *call) int {
	o, status := c.options("# a,suffix-length= b,bytes= C,line-bytes= d,numeric-suffixes=? x,hex-suffixes=? l,lines= n,number= additional-suffix= !e,elide-empty-files verbose !t,separator= !filter=")
	if o == nil {
		return status
	}
	s := &splitter{c: c, o: o, prefix: "x", digits: "abcdefghijklmnopqrstuvwxyz"}
	input := "-"
	if len(o.args) > 0 {
		input = o.args[0]
	}
	if len(o.args) > 1 {
		s.prefix = o.args[1]
	}
	var ok bool
	if s.length, ok = atoi(o.value("a", "2")); !ok || s.length < 1 || s.length > 20 {
		return c.die(1, "invalid suffix length: %s", quote(o.value("a", "")))
	}
	for _, name := range []string{"d", "x"} {
		if o.on(name) {
			s.digits = map[string]string{"d": "0123456789", "x": "0123456789abcdef"}[name]
			s.next, _ = atoi(o.value(name, "0"))
		}
	}
	defer func() {
		if s.out != nil {
			s.out.Close()
		}
	}()
	r, err := c.open(input)
	if err != nil {
		return c.die(1, "cannot open %s for reading: %s", quote(input), text(err))
	}
	defer r.Close()
	s.r = r
	if spec := o.value("b", o.value("n", "")); spec != "" {
		return s.bytes(spec, input)
	}
	return s.lines()
}

// open begins the next file.
func (s *splitter) open() bool {
	if s.out != nil {
		s.out.Close()
	}
	suffix, n := "", s.next
	for range s.length {
		suffix = s.digits[n%len(s.digits):n%len(s.digits)+1] + suffix
		n /= len(s.digits)
	}
	if n > 0 {
		s.c.fail("output file suffixes exhausted")
		return false
	}
	s.next++
	name := s.prefix + suffix + s.o.value("additional-suffix", "")
	if s.o.on("verbose") {
		s.c.printf("creating file %s\n", quote(name))
	}
	var err error
	if s.out, err = s.c.create(name); err != nil {
		s.c.failed(name, err)
		return false
	}
	return true
}

func (s *splitter) write(b []byte) bool {
	_, err := s.out.Write(b)
	if err != nil {
		s.c.fail("%s", text(err))
	}
	return err == nil
}

// bytes splits by -b, or -n.
func (s *splitter) bytes(spec, input string) int {
	c := s.c
	n, ok := size(spec)
	chunks := 0
	if s.o.on("n") {
		if chunks, ok = atoi(spec); !ok {
			return c.die(1, "only a plain number of chunks is available in this sandbox, not %s", quote(spec))
		}
		st, err := c.stat(input)
		if err != nil {
			return c.die(1, "%s: cannot determine file size", input)
		}
		n = max(1, st.Size/int64(max(1, chunks)))
	}
	if !ok || n < 1 {
		return c.die(1, "invalid number of bytes: %s", quote(spec))
	}
	for i := 1; ; i++ {
		probe := make([]byte, 1)
		if m, _ := s.r.Read(probe); m == 0 {
			return c.status
		}
		if !s.open() || !s.write(probe) {
			return 1
		}
		most := n - 1
		if i == chunks {
			most = 1 << 62
		}
		if _, err := io.CopyN(s.out, s.r, most); err != nil {
			if err != io.EOF {
				c.fail("%s", text(err))
			}
			return c.status
		}
	}
}

// lines splits by -l, or -C.
func (s *splitter) lines() int {
	c, o := s.c, s.o
	most, ok := size(o.value("l", o.value("#", "1000")))
	if !ok || most < 1 {
		return c.die(1, "invalid number of lines: %s", quote(o.value("l", "")))
	}
	limit := int64(0)
	if spec := o.value("C", ""); spec != "" {
		if limit, ok = size(spec); !ok {
			return c.die(1, "invalid number of bytes: %s", quote(spec))
		}
	}
	l := c.lines(s.r, '\n')
	count, written := most, int64(0)
	for line, ok := l.next(); ok; line, ok = l.next() {
		if limit == 0 && count >= most || limit > 0 && (s.out == nil || written+int64(len(line))+1 > limit) {
			if !s.open() {
				return 1
			}
			count, written = 0, 0
		}
		count++
		written += int64(len(line)) + 1
		if l.whole {
			line = append(slices.Clip(line), '\n')
		}
		if !s.write(line) {
			return 1
		}
	}
	return c.status
}
