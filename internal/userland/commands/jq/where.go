package jq

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// place is the inputs as a decoder reads them, which keeps what follows the last value
// so that an error can name its line.
type place struct {
	c     *command.Call
	files []string // which are left to open
	name  string   // of the open one
	r     io.Reader
	dec   *json.Decoder

	kept  []byte // what was read from offset base on
	base  int64
	begun int64 // where the value in progress begins
	lines int   // line ends before base
	col   int   // bytes before base in its line
	first int   // lines where the open file begins
	eof   bool

	charged int64 // for the value in progress
}

func (j *run) newPlace(names []string) *place {
	p := &place{c: j.c, files: names, name: "<stdin>"}
	if len(names) == 0 {
		p.r = j.c.In()
	}
	return p
}

// Read reads on, and charges that to the memory budget until the next value.
func (p *place) Read(b []byte) (n int, err error) {
	for n == 0 {
		if p.r == nil {
			if len(p.files) == 0 {
				p.eof = true
				return 0, io.EOF
			}
			p.name, p.files = p.files[0], p.files[1:]
			p.r = p.c.Concat([]string{p.name})
			p.first = p.lines + bytes.Count(p.kept, []byte("\n"))
		}
		if n, err = p.r.Read(b); err == io.EOF {
			p.r = nil
		} else if err != nil {
			return n, err
		}
	}
	if e := p.c.Reserve(int64(5 * n)); e != nil {
		return 0, e
	}
	p.charged += int64(5 * n)
	if p.begun > p.base {
		p.forget(p.begun)
	}
	p.kept = append(p.kept, b[:n]...)
	return n, nil
}

// forget drops what is before an offset.
func (p *place) forget(offset int64) {
	gone := p.kept[:min(offset-p.base, int64(len(p.kept)))]
	p.lines, p.col = position(gone, p.lines, p.col)
	p.base += int64(len(gone))
	p.kept = append(p.kept[:0], p.kept[len(gone):]...)
}

// position moves on over a text.
func position(text []byte, lines, col int) (int, int) {
	if last := bytes.LastIndexByte(text, '\n'); last >= 0 {
		lines, col = lines+bytes.Count(text, []byte("\n")), -last-1
	}
	return lines, col + len(text)
}

// at names the file and the line.
func (p *place) at() string { return p.name + ":" + strconv.Itoa(p.line()) }

// line is the number of line ends that jq has read for the last value: it reads whole
// lines.
func (p *place) line() int {
	end := int64(0)
	if p.dec != nil {
		end = min(max(p.dec.InputOffset()-p.base, 0), int64(len(p.kept)))
	}
	lines, _ := position(p.kept[:end], p.lines, 0)
	if !p.eof || bytes.IndexByte(p.kept[end:], '\n') >= 0 {
		lines++
	}
	return max(0, lines-p.first)
}

// maxToken bounds what is read after an error to find a token's end.
const maxToken = 4 << 10

// wrong returns what jq says of the value in progress, "" if it would take it.
func (p *place) wrong() string {
	b := make([]byte, maxToken)
	for read := 0; read < maxToken; {
		n, err := p.Read(b)
		if read += n; err != nil {
			break
		}
	}
	s := scanner{}
	text := p.kept[min(max(p.begun-p.base, 0), int64(len(p.kept))):]
	before := p.kept[:len(p.kept)-len(text)]
	what, n := s.scan(text, p.eof)
	if what == "" {
		return ""
	}
	lines, col := position(before, p.lines, p.col)
	lines, col = position(text[:n], lines, col)
	return what + " at line " + strconv.Itoa(lines+1) + ", column " + strconv.Itoa(col)
}

// explain returns what jq says of an error of the decoder.
func (p *place) explain(err error) string {
	var syntax *json.SyntaxError
	unfinished := errors.Is(err, io.ErrUnexpectedEOF)
	if !unfinished && !errors.As(err, &syntax) {
		return command.Text(err)
	}
	if s := p.wrong(); s != "" {
		return s
	}
	if unfinished {
		return "Unfinished JSON term"
	}
	end := min(max(p.dec.InputOffset()-p.base, 0), int64(len(p.kept)))
	lines, col := position(p.kept[:end], p.lines, p.col)
	return command.Text(err) + " after line " + strconv.Itoa(lines+1) + ", column " + strconv.Itoa(col)
}

// scanner is the checking part of jq's parser, see jv_parse.c of jq 1.6: the stack
// holds '[', '{' of an object without a key, and ':' of one whose value is due.
type scanner struct {
	stack  []byte
	filled []bool // whether the list or object has elements
	next   byte   // the value that was read: 0 none, 's' a string, 'v' another
	token  []byte
}

// scan returns what is wrong with a text, and how much of it was read by then.
func (s *scanner) scan(text []byte, eof bool) (string, int) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if strings.IndexByte(" \t\r\n[{:,]}\"", c) < 0 {
			s.token = append(s.token, c)
			continue
		}
		what := s.literal()
		if what == "" && c == '"' {
			n, ok := quoted(text[i:])
			if !ok {
				if eof {
					return "Unfinished string at EOF", len(text)
				}
				return "", 0
			}
			what = s.str(text[i : i+n])
			i += n - 1
		} else if what == "" && strings.IndexByte(" \t\r\n", c) < 0 {
			what = s.structure(c)
		}
		if what != "" {
			return what, i + 1
		}
		if len(s.stack) == 0 {
			s.next = 0
		}
	}
	if !eof {
		return "", 0
	}
	if what := s.literal(); what != "" {
		return what + " at EOF", len(text)
	}
	if len(s.stack) > 0 {
		return "Unfinished JSON term at EOF", len(text)
	}
	return "", 0
}

// quoted returns the length of the string at the start of a text.
func quoted(text []byte) (int, bool) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1, true
		}
	}
	return 0, false
}

func (s *scanner) value(kind byte) string {
	if s.next != 0 {
		return "Expected separator between values"
	}
	s.next = kind
	return ""
}

// literal ends a token.
func (s *scanner) literal() string {
	t := string(s.token)
	if s.token = s.token[:0]; t == "" {
		return ""
	}
	if words := map[byte]string{'t': "true", 'f': "false", 'n': "null"}; words[t[0]] != "" && t != "nan" {
		if t != words[t[0]] {
			return "Invalid literal"
		}
	} else if _, err := strconv.ParseFloat(t, 64); err != nil && !strings.Contains(err.Error(), "range") || strings.ContainsAny(t, "_xX") {
		return "Invalid numeric literal"
	}
	return s.value('v')
}

// str ends a string.
func (s *scanner) str(text []byte) string {
	for i := 1; i < len(text)-1; i++ {
		switch c := text[i]; {
		case c < 0x20:
			return "Invalid string: control characters from U+0000 through U+001F must be escaped"
		case c != '\\':
		case text[i+1] == 'u':
			if _, err := strconv.ParseUint(string(text[i+2:min(i+6, len(text))]), 16, 16); err != nil {
				return `Invalid \uXXXX escape`
			}
			i += 5
		case strings.IndexByte(`"\/bfnrt`, text[i+1]) < 0:
			return "Invalid escape"
		default:
			i++
		}
	}
	return s.value('s')
}

// structure takes one of [{:,]}.
func (s *scanner) structure(c byte) string {
	top := byte(0)
	last := len(s.stack) - 1
	if last >= 0 {
		top = s.stack[last]
	}
	switch c {
	case '[', '{':
		if s.next != 0 {
			return "Expected separator between values"
		}
		s.stack, s.filled = append(s.stack, c), append(s.filled, false)
		return ""
	case ':':
		switch {
		case s.next == 0:
			return "Expected string key before ':'"
		case top != '{':
			return "':' not as part of an object"
		case s.next != 's':
			return "Object keys must be strings"
		}
		s.stack[last], s.next = ':', 0
		return ""
	case ',':
		switch {
		case s.next == 0:
			return "Expected value before ','"
		case top == '{':
			return "Objects must consist of key:value pairs"
		case top == 0:
			return "',' should separate object elements"
		case top == ':':
			s.stack[last] = '{'
		}
		s.filled[last], s.next = true, 0
		return ""
	}
	return s.end(c, top, last)
}

// end takes ] or }.
func (s *scanner) end(c, top byte, last int) string {
	switch {
	case c == ']' && top != '[', c == '}' && top == 0, c == '}' && s.next == 0 && top != '{':
		return "Unmatched '" + string(c) + "'"
	case c == '}' && s.next != 0 && top != ':':
		return "Objects must consist of key:value pairs"
	case s.next == 0 && s.filled[last] && c == ']':
		return "Expected another array element"
	case s.next == 0 && s.filled[last]:
		return "Expected another key-value pair"
	}
	s.stack, s.filled, s.next = s.stack[:last], s.filled[:last], 'v'
	return ""
}
