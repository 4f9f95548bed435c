package text

import (
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/printf"
)

// hexUnit is a unit of hexdump's -e: a format that is used some times for as many bytes.
type hexUnit struct {
	times  int
	given  bool // the number of times
	parts  []hexPart
	length int // of what one use takes
}

// hexPart is a conversion with the text behind it, or the text before the first one.
type hexPart struct {
	verb   string // "" for text alone, "_ax", "_c", "d"
	format string // of Go, for all but "_"
	pad    string // at the end of the input
	text   string
	length int // bytes
}

var (
	hexSyntax     = lazyregexp.New(`^\s*(?:(\d*)(?:/(\d+))?\s*)?"((?:[^"\\]|\\.)*)"`)
	hexConversion = lazyregexp.New(`%([-+ #0]*)(\d*)(?:\.(\d+))?(_[aA][dox]|_[cpu]|[diouxXcsfeEgG])|%%`)
)

// maxHexBlock bounds the bytes of a block, and the widths.
const maxHexBlock = 1 << 12

// hexUnits reads one -e.
func hexUnits(c *command.Call, spec string) (units []hexUnit) {
	for rest := spec; strings.TrimSpace(rest) != ""; {
		m := hexSyntax.FindStringSubmatch(rest)
		if m == nil {
			c.Exit(1, "bad format {%s}", spec)
		}
		rest = rest[len(m[0]):]
		u := hexUnit{times: 1}
		each := 0
		for text, to := range map[string]*int{m[1]: &u.times, m[2]: &each} {
			if n, err := strconv.Atoi(text); text != "" && (err != nil || n > maxHexBlock) {
				c.Exit(1, "bad format {%s}", spec)
			} else if text != "" {
				*to, u.given = n, true
			}
		}
		u.given = m[1] != ""
		var plain strings.Builder
		for i := 0; i < len(m[3]); {
			text, n, _ := printf.CEscape(m[3][i:], false)
			if m[3][i] != '\\' {
				text, n = m[3][i:i+1], 1
			} else if m[3][i+1] == '"' {
				text, n = `"`, 2
			}
			plain.WriteString(text)
			i += n
		}
		u.split(c, plain.String(), each)
		units = append(units, u)
	}
	return units
}

// split takes a format apart; each is how many bytes a conversion takes, 0 unknown.
func (u *hexUnit) split(c *command.Call, format string, each int) {
	end := 0
	text := func(s string) {
		if len(u.parts) == 0 {
			u.parts = append(u.parts, hexPart{})
		}
		u.parts[len(u.parts)-1].text += strings.ReplaceAll(s, "%%", "%")
	}
	for _, m := range hexConversion.FindAllStringSubmatchIndex(format, -1) {
		if m[8] < 0 {
			continue // %%
		}
		text(format[end:m[0]])
		end = m[1]
		flags, width, verb := format[m[2]:m[3]], format[m[4]:m[5]], format[m[8]:m[9]]
		n, _ := strconv.Atoi(width)
		p := hexPart{verb: verb, length: each}
		precision := ""
		if m[6] >= 0 {
			precision = "." + format[m[6]:m[7]]
		}
		most, _ := strconv.Atoi(strings.TrimPrefix(precision, "."))
		switch {
		case n > maxHexBlock || most > maxHexBlock:
			c.Exit(1, "bad format {%s}", format)
		case verb[0] == '_' && verb[1]|32 == 'a':
			p.length, p.format = 0, "%"+flags+width+precision+strings.ToLower(verb[2:])
		case verb[0] == '_' || verb == "c":
			p.length, p.format = 1, "%"+flags+width+"s"
		case verb == "s":
			if p.length = max(each, most); p.length == 0 {
				c.Exit(1, "%%s requires a precision or a byte count")
			}
			p.format = "%" + flags + width + precision + "s"
		case strings.Contains("feEgG", verb):
			p.length = cmp.Or(p.length, 8)
			p.format = "%" + flags + width + precision + verb
		default:
			p.length = cmp.Or(p.length, 4)
			p.format = "%" + flags + width + precision + strings.NewReplacer("i", "d", "u", "d").Replace(verb)
		}
		if p.length != 0 && !strings.Contains("fegEG", verb) && verb != "s" && verb[0] != '_' && verb != "c" && p.length != 1 && p.length != 2 && p.length != 4 && p.length != 8 {
			c.Exit(1, "bad byte count for conversion character %s", verb)
		}
		p.pad = strings.Repeat(" ", n)
		u.parts = append(u.parts, p)
		u.length += p.length
	}
	text(format[end:])
}

// hexFormats dumps by formats, from an offset on.
func hexFormats(c *command.Call, specs []string, all bool, in io.Reader, offset int64) int {
	var formats [][]hexUnit
	block := 0
	for _, spec := range specs {
		units := hexUnits(c, spec)
		size := 0
		for _, u := range units {
			size += u.times * u.length
		}
		formats, block = append(formats, units), max(block, size)
	}
	if block == 0 || block > maxHexBlock {
		block = 16
	}
	for _, units := range formats {
		size := 0
		for _, u := range units {
			size += u.times * u.length
		}
		if n := len(units); n > 0 {
			if last := &units[n-1]; size < block && !last.given && last.length > 0 {
				last.times += (block - size) / last.length
			}
		}
	}
	offset = squeezed(c, in, block, offset, all, func(b []byte, at int64) {
		for _, units := range formats {
			hexLine(c, units, b, at)
		}
	})
	if offset == 0 {
		return c.Status
	}
	for _, units := range formats {
		for _, u := range units {
			for _, p := range u.parts {
				if strings.HasPrefix(p.verb, "_A") {
					c.Printf(p.format+"%s", offset, p.text)
				}
			}
		}
	}
	return c.Status
}

// hexLine prints a block by the units of one -e.
func hexLine(c *command.Call, units []hexUnit, b []byte, offset int64) {
	at := 0
	var data []byte
	for _, u := range units {
		for turn := 1; turn <= u.times; turn++ {
			for i, p := range u.parts {
				text := p.text
				if n := len(text); u.times > 1 && turn == u.times && i == len(u.parts)-1 && n > 0 && strings.IndexByte(" \t\n", text[n-1]) >= 0 {
					text = text[:n-1]
				}
				switch {
				case p.verb == "":
					c.Print(text)
				case strings.HasPrefix(p.verb, "_A"):
					return
				case strings.HasPrefix(p.verb, "_a"):
					c.Printf(p.format+"%s", offset+int64(at), text)
				case at >= len(b):
					c.Print(p.pad + text)
				default:
					data = append(data[:0], b[at:min(len(b), at+p.length)]...)
					for len(data) < max(p.length, 8) {
						data = append(data, 0)
					}
					if p.verb == "_p" && p.format == "%s" {
						c.Out.WriteByte(printable(data[0]))
					} else {
						c.Printf(p.format, p.value(data))
					}
					c.Print(text)
				}
				at += p.length
			}
		}
	}
}

// value is what a conversion prints of the bytes.
func (p *hexPart) value(data []byte) any {
	word := binary.LittleEndian.Uint64(data)
	switch p.verb {
	case "_c", "_u":
		return strings.TrimSpace(odChar('c', data[0]))
	case "_p":
		return string(rune(printable(data[0])))
	case "c":
		return string(data[:1])
	case "s":
		text, _, _ := strings.Cut(string(data[:p.length]), "\x00")
		return text
	case "f", "e", "E", "g", "G":
		if p.length == 4 {
			return math.Float32frombits(uint32(word))
		}
		return math.Float64frombits(word)
	case "d", "i":
		shift := 64 - 8*p.length
		return int64(word<<shift) >> shift
	}
	return word & (1<<(8*p.length) - 1)
}
