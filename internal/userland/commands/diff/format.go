package diff

import (
	"strings"

	"coderunner/internal/userland/printf"
)

// formats are the options that say how groups of lines, and lines, are printed.
const formats = " line-format= old-line-format= new-line-format= unchanged-line-format= old-group-format= new-group-format= unchanged-group-format= changed-group-format="

// formatted reports whether one of them was given.
func (d *differ) formatted() bool {
	for _, s := range d.o.Set {
		if strings.HasSuffix(s.Name, "-format") {
			return true
		}
	}
	return false
}

// format prints the files merged, by the formats.
func (d *differ) format(p *diffPrinter, hunks []hunk) {
	get := func(name, none string) string {
		if d.o.On(name) {
			return d.o.Value(name, "")
		}
		return none
	}
	every := get("line-format", "%l\n")
	oldLine, newLine, same := get("old-line-format", every), get("new-line-format", every), get("unchanged-line-format", every)
	removed := get("old-group-format", get("changed-group-format", "%<"))
	added := get("new-group-format", get("changed-group-format", "%>"))
	changed := get("changed-group-format", removed+added)
	unchanged := get("unchanged-group-format", "%=")
	group := func(format string, alo, ahi, blo, bhi int) {
		p.directives(format, func(verb byte) bool {
			switch verb {
			case '<':
				p.lines(oldLine, p.a, alo, ahi)
			case '>':
				p.lines(newLine, p.b, blo, bhi)
			case '=':
				p.lines(same, p.a, alo, ahi)
			}
			return strings.IndexByte("<>=", verb) >= 0
		})
	}
	at := 0
	end := hunk{len(p.a.lines), len(p.a.lines), len(p.b.lines), len(p.b.lines)}
	for _, h := range append(hunks, end) {
		if at < h.alo {
			group(unchanged, at, h.alo, 0, 0)
		}
		switch at = h.ahi; {
		case h == end:
		case h.alo == h.ahi:
			group(added, h.alo, h.ahi, h.blo, h.bhi)
		case h.blo == h.bhi:
			group(removed, h.alo, h.ahi, h.blo, h.bhi)
		default:
			group(changed, h.alo, h.ahi, h.blo, h.bhi)
		}
	}
}

// lines prints some lines of a file by the format of a line: %L is the line, %l is it
// without its newline and %dn its number.
func (p *diffPrinter) lines(format string, s *side, lo, hi int) {
	for i := lo; i < hi; i++ {
		p.numbered(format, i+1, func(verb byte) bool {
			switch verb {
			case 'L', 'l':
				p.c.Out.Write(s.lines[i])
				if verb == 'L' && !(s.bare && i == len(s.lines)-1) {
					p.c.Print("\n")
				}
				return true
			}
			return false
		})
	}
}

// numbered is directives for a line, which has a number.
func (p *diffPrinter) numbered(format string, n int, print func(verb byte) bool) {
	for format != "" {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			p.c.Print(format)
			return
		}
		d, rest, ok := printf.NextDirective(format[at:])
		if ok && strings.IndexByte("doxX", d.Verb) >= 0 && strings.HasPrefix(rest, "n") {
			p.directives(format[:at], print)
			p.c.Print(d.FormatInt(int64(n)))
			format = rest[1:]
			continue
		}
		next := min(len(format), at+2)
		if strings.HasPrefix(format[at:], "%c'") {
			next = at + 4 + strings.IndexByte(format[at+3:], '\'')
		}
		p.directives(format[:next], print)
		format = format[next:]
	}
}

// directives prints a format: what print does not know is %%, a character as %c'x', or
// stays as it is.
func (p *diffPrinter) directives(format string, print func(verb byte) bool) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			p.c.Out.WriteByte(format[i])
			continue
		}
		i++
		switch {
		case print(format[i]):
		case format[i] == '%':
			p.c.Print("%")
		case strings.HasPrefix(format[i:], "c'") && strings.IndexByte(format[i+2:], '\'') > 0:
			char := format[i+2 : i+2+strings.IndexByte(format[i+2:], '\'')]
			i += len(char) + 2
			if strings.HasPrefix(char, `\`) && len(char) > 1 {
				text, _, _ := printf.CEscape(char, true)
				char = text
			}
			p.c.Print(char)
		default:
			p.c.Print("%" + format[i:i+1])
		}
	}
}
