package text

import (
	"bufio"
	"cmp"
	"fmt"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// csplitter is a running csplit.
type csplitter struct {
	c     *command.Call
	o     *command.Options
	lines [][]byte
	at    int // the first line that is in no piece
	next  int // the number of the next piece
	made  []string
}

// Csplit splits a file at line numbers and at lines that match.
func Csplit(c *command.Call) int {
	o := c.Parse("b,suffix-format= f,prefix= k,keep-files n,digits= s,quiet,silent q z,elide-empty-files suppress-matched", 2)
	lines, err := c.ReadLines(o.Args[0], '\n')
	c.Need(err, 1, "cannot open %s for reading", command.Quote(o.Args[0]))
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	s := &csplitter{c: c, o: o, lines: lines}
	err = c.Catch(func() { s.split(o.Args[1:]) })
	if err = cmp.Or(err, c.Catch(func() { s.piece(len(lines)) })); err == nil {
		return c.Status
	}
	if !o.On("k") {
		for _, name := range s.made {
			c.FS.Unlink(nil, c.Abs(name))
		}
	}
	return c.Die(1, "%s", err)
}

// split makes a piece up to each place that a pattern names.
func (s *csplitter) split(patterns []string) {
	for i := 0; i < len(patterns); i++ {
		pattern, times, forever := patterns[i], 1, false
		if i+1 < len(patterns) && strings.HasPrefix(patterns[i+1], "{") {
			count := strings.Trim(patterns[i+1], "{}")
			n, ok := command.Atoi(count)
			if forever = count == "*"; !forever && (!ok || n < 0) {
				s.c.Throw("%s}: integer required between '{' and '}'", patterns[i+1])
			}
			i, times = i+1, n+1
		}
		for k := 0; forever || k < times; k++ {
			end, skip := s.find(pattern, k)
			switch {
			case end < 0 && forever:
				return
			case end < 0 && s.numbered(pattern), end >= 0 && end < s.at, s.c.Stopped():
				s.c.Throw("%s: line number out of range", command.Quote(pattern))
			case end < 0:
				s.c.Throw("%s: match not found", command.Quote(pattern))
			case skip:
				s.at = end
			default:
				s.piece(end)
			}
			if s.o.On("suppress-matched") {
				s.at++
			}
		}
	}
}

// numbered reports whether a pattern is the number of a line.
func (s *csplitter) numbered(pattern string) bool {
	n, ok := command.Atoi(pattern)
	return ok && n > 0
}

// find returns the line that a pattern names, -1 if there is none, and whether what is
// before it is dropped.
func (s *csplitter) find(pattern string, repeated int) (end int, skip bool) {
	if n, _ := command.Atoi(pattern); s.numbered(pattern) {
		if n *= repeated + 1; n > len(s.lines) {
			return -1, false
		}
		return n - 1, false
	}
	mark := pattern[:min(1, len(pattern))]
	last := strings.LastIndex(pattern, mark)
	if mark != "/" && mark != "%" || last == 0 {
		s.c.Throw("%s: invalid pattern", command.Quote(pattern))
	}
	offset, ok := command.Atoi(cmp.Or(pattern[last+1:], "0"))
	if !ok {
		s.c.Throw("%s: integer expected after delimiter", pattern)
	}
	re, err := regex.CompileBasic(pattern[1:last], false, s.c.Limits())
	if err != nil {
		s.c.Throw("%s: invalid regular expression: %w", command.Quote(pattern), err)
	}
	from := s.at
	if len(s.made) > 0 || repeated > 0 { // a piece begins with the line that matched
		from++
	}
	for i := from; i < len(s.lines); i++ {
		if re.Match(s.lines[i]) {
			return min(max(i+offset, 0), len(s.lines)), mark == "%"
		}
	}
	return -1, false
}

// piece writes the lines before end as the next file.
func (s *csplitter) piece(end int) {
	if s.o.On("z") && end <= s.at {
		return
	}
	c := s.c
	name := s.o.Value("f", "xx")
	if format := s.o.Value("b", ""); format != "" {
		name += fmt.Sprintf(format, s.next)
	} else {
		name += fmt.Sprintf("%0*d", c.Int(s.o.Value("n", "2"), 1, 20, "invalid number: %s"), s.next)
	}
	s.next++
	f, err := c.Create(name)
	if err != nil {
		c.Throw("%s: %s", name, command.Text(err))
	}
	defer f.Close()
	s.made = append(s.made, name)
	w := bufio.NewWriter(f)
	size := 0
	for ; s.at < end; s.at++ {
		size += len(s.lines[s.at]) + 1
		w.Write(s.lines[s.at])
		w.WriteByte('\n')
	}
	if err := w.Flush(); err != nil {
		c.Throw("%s: %s", name, command.Text(err))
	}
	if !s.o.On("s") && !s.o.On("q") {
		c.Printf("%d\n", size)
	}
}
