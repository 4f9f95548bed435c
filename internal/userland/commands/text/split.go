package text

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// splitter is a running split.
type splitter struct {
	c      *command.Call
	o      *command.Options
	r      io.Reader
	prefix string
	digits string // of the suffix
	length int    // of the suffix
	widens bool   // the suffix gets longer when all are used
	next   int    // the number of the next file
	out    *command.File
}

// Split is split: it writes pieces of a file.
func Split(c *command.Call) int {
	o := c.Parse("# a,suffix-length= b,bytes= C,line-bytes= d,numeric-suffixes=~ x,hex-suffixes=~ l,lines= n,number= additional-suffix= e,elide-empty-files verbose !t,separator= !filter=")
	s := &splitter{c: c, o: o, prefix: "x", digits: "abcdefghijklmnopqrstuvwxyz"}
	input := o.Operands("-")[0]
	if len(o.Args) > 1 {
		s.prefix = o.Args[1]
	}
	s.length, s.widens = c.Int(o.Value("a", "2"), 1, 20, "invalid suffix length: %s"), !o.On("a")
	for _, name := range []string{"d", "x"} {
		if o.On(name) {
			s.digits = map[string]string{"d": "0123456789", "x": "0123456789abcdef"}[name]
			from := false
			s.next, from = command.Atoi(o.Value(name, "0"))
			s.widens = s.widens && !(from && o.Value(name, "") != "")
		}
	}
	defer func() {
		if s.out != nil {
			s.out.Close()
		}
	}()
	r, err := c.Open(input)
	c.Need(err, 1, "cannot open %s for reading", command.Quote(input))
	defer r.Close()
	s.r = r
	spec := o.Value("n", "")
	if n, ok := command.Atoi(spec[strings.LastIndexByte(spec, '/')+1:]); ok && !o.On("a") {
		s.widens = false // there are as many as that
		s.length = 1
		for most := len(s.digits); most < s.next+n; most *= len(s.digits) {
			s.length++
		}
		s.length = max(s.length, 2)
	}
	if kind, chunks, ok := strings.Cut(spec, "/"); ok && (kind == "l" || kind == "r") {
		return s.lineChunks(kind, c.Int(chunks, 1, maxChunks, "invalid number of chunks: %s"))
	}
	if spec = o.Value("b", spec); spec != "" {
		return s.bytes(spec, input)
	}
	return s.lines()
}

// open begins the next file.
func (s *splitter) open() bool {
	if s.out != nil {
		s.out.Close()
	}
	suffix, ok := s.suffix()
	if !ok {
		s.c.Fail("output file suffixes exhausted")
		return false
	}
	s.next++
	name := s.prefix + suffix + s.o.Value("additional-suffix", "")
	if s.o.On("verbose") {
		s.c.Printf("creating file %s\n", command.Quote(name))
	}
	var err error
	if s.out, err = s.c.Create(name); err != nil {
		s.c.Failed(name, err)
		return false
	}
	return true
}

// suffix returns the suffix of the next file. Those that get longer begin with the last
// digit once more, so that names stay in order: after xyz comes xzaaa.
func (s *splitter) suffix() (string, bool) {
	base, n, length, before := len(s.digits), s.next, s.length, ""
	for s.widens {
		here := base - 1
		for range length - 1 {
			here *= base
		}
		if n < here || length > 8 {
			break
		}
		n, length, before = n-here, length+1, before+s.digits[base-1:]
	}
	suffix := ""
	for range length {
		suffix = s.digits[n%base:n%base+1] + suffix
		n /= base
	}
	return before + suffix, n == 0
}

func (s *splitter) write(b []byte) bool {
	_, err := s.out.Write(b)
	if err != nil {
		s.c.Fail("%s", command.Text(err))
	}
	return err == nil
}

// bytes splits by -b, or -n.
func (s *splitter) bytes(spec, input string) int {
	c := s.c
	n, ok := command.Size(spec)
	chunks := 0
	if s.o.On("n") {
		if chunks, ok = command.Atoi(spec); !ok {
			return c.Die(1, "only N, l/N and r/N chunks are available in this sandbox, not %s", command.Quote(spec))
		}
		st, err := c.Stat(input)
		if err != nil {
			return c.Die(1, "%s: cannot determine file size", input)
		}
		n = max(1, st.Size/int64(max(1, chunks)))
	}
	if !ok || n < 1 {
		return c.Die(1, "invalid number of bytes: %s", command.Quote(spec))
	}
	for i := 1; ; i++ {
		probe := make([]byte, 1)
		if m, _ := s.r.Read(probe); m == 0 {
			return c.Status
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
				c.Fail("%s", command.Text(err))
			}
			return c.Status
		}
	}
}

// maxChunks bounds the files that are open at once.
const maxChunks = 500

// lineChunks splits into n files of whole lines: "l" has the lines that begin in each
// nth part of the input, "r" has them in turn.
func (s *splitter) lineChunks(kind string, n int) int {
	c := s.c
	data, err := c.ReadAll(s.r)
	c.Must(err)
	chunks := make([][]byte, n)
	size := len(data) / n
	at, part, end := 0, 0, size
	for line := range bytes.Lines(data) {
		if kind == "r" {
			chunks[part] = append(chunks[part], line...)
			part = (part + 1) % n
			continue
		}
		for at >= end && part < n-1 {
			part++
			end += size
		}
		chunks[part] = append(chunks[part], line...)
		at += len(line)
	}
	for _, chunk := range chunks {
		if len(chunk) == 0 && s.o.On("e") {
			continue
		}
		if !s.open() || !s.write(chunk) {
			return 1
		}
	}
	return c.Status
}

// lines splits by -l, or -C.
func (s *splitter) lines() int {
	c, o := s.c, s.o
	most, ok := command.Size(o.Value("l", o.Value("#", "1000")))
	if !ok || most < 1 {
		return c.Die(1, "invalid number of lines: %s", command.Quote(o.Value("l", "")))
	}
	limit := int64(0)
	if spec := o.Value("C", ""); spec != "" {
		if limit, ok = command.Size(spec); !ok {
			return c.Die(1, "invalid number of bytes: %s", command.Quote(spec))
		}
	}
	l := c.Lines(s.r, '\n')
	count, written := most, int64(0)
	for line := range l.All() {
		if limit == 0 && count >= most || limit > 0 && (s.out == nil || written+int64(len(line))+1 > limit) {
			if !s.open() {
				return 1
			}
			count, written = 0, 0
		}
		count++
		written += int64(len(line)) + 1
		if l.Whole {
			line = append(slices.Clip(line), '\n')
		}
		if !s.write(line) {
			return 1
		}
	}
	return c.Status
}
