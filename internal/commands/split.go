package commands

import (
	"io"
	"slices"
)

// splitFile is split: it writes pieces of a file.
func splitFile(c *call) int {
	o, status := c.options("# a,suffix-length= b,bytes= C,line-bytes= d,numeric-suffixes=? x,hex-suffixes=? l,lines= n,number= additional-suffix= !e,elide-empty-files verbose !t,separator= !filter=")
	if o == nil {
		return status
	}
	input, prefix := "-", "x"
	if len(o.args) > 0 {
		input = o.args[0]
	}
	if len(o.args) > 1 {
		prefix = o.args[1]
	}
	length, ok := atoi(o.value("a", "2"))
	if !ok || length < 1 || length > 20 {
		return c.die(1, "invalid suffix length: %s", quote(o.value("a", "")))
	}
	digits, start := "abcdefghijklmnopqrstuvwxyz", 0
	for _, name := range []string{"d", "x"} {
		if o.on(name) {
			digits = map[string]string{"d": "0123456789", "x": "0123456789abcdef"}[name]
			start, _ = atoi(o.value(name, "0"))
		}
	}
	next := start
	var out *file
	open := func() bool {
		if out != nil {
			out.Close()
		}
		suffix, n := "", next
		for range length {
			suffix = digits[n%len(digits):n%len(digits)+1] + suffix
			n /= len(digits)
		}
		if n > 0 {
			c.fail("output file suffixes exhausted")
			return false
		}
		next++
		name := prefix + suffix + o.value("additional-suffix", "")
		if o.on("verbose") {
			c.printf("creating file %s\n", quote(name))
		}
		var err error
		if out, err = c.create(name); err != nil {
			c.failed(name, err)
			return false
		}
		return true
	}
	defer func() {
		if out != nil {
			out.Close()
		}
	}()
	r, err := c.open(input)
	if err != nil {
		return c.die(1, "cannot open %s for reading: %s", quote(input), text(err))
	}
	defer r.Close()
	write := func(b []byte) bool {
		if _, err := out.Write(b); err != nil {
			c.fail("%s", text(err))
			return false
		}
		return true
	}
	if spec := o.value("b", o.value("n", "")); spec != "" {
		n, ok := size(spec)
		chunks := 0
		if o.on("n") {
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
			if m, _ := r.Read(probe); m == 0 {
				return c.status
			}
			if !open() || !write(probe) {
				return 1
			}
			most := n - 1
			if i == chunks {
				most = 1 << 62
			}
			if _, err := io.CopyN(out, r, most); err != nil {
				if err != io.EOF {
					c.fail("%s", text(err))
				}
				return c.status
			}
		}
	}
	most, ok := size(o.value("l", o.value("#", "1000")))
	if !ok || most < 1 {
		return c.die(1, "invalid number of lines: %s", quote(o.value("l", "")))
	}
	limit := int64(0)
	if s := o.value("C", ""); s != "" {
		if limit, ok = size(s); !ok {
			return c.die(1, "invalid number of bytes: %s", quote(s))
		}
	}
	l := c.lines(r, '\n')
	count, bytesOut := most, int64(0)
	for line, ok := l.next(); ok; line, ok = l.next() {
		if limit == 0 && count >= most || limit > 0 && (out == nil || bytesOut+int64(len(line))+1 > limit) {
			if !open() {
				return 1
			}
			count, bytesOut = 0, 0
		}
		count++
		bytesOut += int64(len(line)) + 1
		if l.whole {
			line = append(slices.Clip(line), '\n')
		}
		if !write(line) {
			return 1
		}
	}
	return c.status
}
