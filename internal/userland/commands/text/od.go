package text

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// odType is one output format of od.
type odType struct {
	kind byte // a, c, d, f, o, u or x
	size int
	text bool // the characters at the end of the line
}

func (t odType) width() int {
	switch t.kind {
	case 'a', 'c':
		return 3
	case 'o':
		return (8*t.size + 2) / 3
	case 'x':
		return 2 * t.size
	case 'f':
		return map[int]int{4: 15, 8: 24}[t.size]
	}
	return map[int]int{1: 3, 2: 5, 4: 10, 8: 20}[t.size] + command.Btoi(t.kind == 'd')
}

func (t odType) format(b []byte) string {
	if t.kind == 'c' || t.kind == 'a' {
		return odChar(t.kind, b[0])
	}
	full := make([]byte, 8)
	copy(full, b)
	v := binary.LittleEndian.Uint64(full)
	bits := uint(64 - 8*t.size)
	switch t.kind {
	case 'd':
		return strconv.FormatInt(int64(v<<bits)>>bits, 10)
	case 'u':
		return strconv.FormatUint(v, 10)
	case 'o':
		return fmt.Sprintf("%0*o", t.width(), v)
	case 'x':
		return fmt.Sprintf("%0*x", t.width(), v)
	}
	if t.size == 4 {
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v))), 'g', -1, 32)
	}
	return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
}

func odChar(kind, b byte) string {
	if kind == 'a' {
		names := strings.Fields("nul soh stx etx eot enq ack bel bs ht nl vt ff cr so si dle dc1 dc2 dc3 dc4 nak syn etb can em sub esc fs gs rs us sp")
		if b &= 0x7f; int(b) < len(names) {
			return names[b]
		} else if b == 0x7f {
			return "del"
		}
		return string(rune(b))
	}
	if at := strings.IndexByte("\x00\a\b\f\n\r\t\v", b); at >= 0 {
		return `\` + "0abfnrtv"[at:at+1]
	}
	if b >= ' ' && b < 0x7f {
		return string(rune(b))
	}
	return fmt.Sprintf("%03o", b)
}

// odTypes parses the argument of -t.
func odTypes(s string) (list []odType, ok bool) {
	for s != "" {
		t := odType{kind: s[0], size: 4}
		s = s[1:]
		switch t.kind {
		case 'a', 'c':
			t.size = 1
		case 'f':
			t.size = 8
		case 'd', 'o', 'u', 'x':
		default:
			return nil, false
		}
		if s != "" && t.kind != 'a' && t.kind != 'c' {
			if n := strings.IndexByte("CSIL", s[0]); n >= 0 {
				t.size, s = []int{1, 2, 4, 8}[n], s[1:]
			} else if n := strings.IndexByte("FD", s[0]); n >= 0 && t.kind == 'f' {
				t.size, s = []int{4, 8}[n], s[1:]
			} else if s[0] >= '0' && s[0] <= '9' {
				t.size, s = int(s[0]-'0'), s[1:]
			}
		}
		if strings.HasPrefix(s, "z") {
			t.text, s = true, s[1:]
		}
		if t.size != 1 && t.size != 2 && t.size != 4 && t.size != 8 || t.kind == 'f' && t.size < 4 {
			return nil, false
		}
		list = append(list, t)
	}
	return list, true
}

// Od dumps files in octal and other forms.
func Od(c *command.Call) int {
	o := c.Parse("A,address-radix= j,skip-bytes= N,read-bytes= t,format= v,output-duplicates w,width=? a b c d f i l o s x !S,strings=? !endian=")
	var types []odType
	short := map[string]string{"a": "a", "b": "o1", "c": "c", "d": "u2", "f": "f4", "i": "d4", "l": "d8", "o": "o2", "s": "d2", "x": "x2"}
	for _, s := range o.Set {
		spec := short[s.Name]
		if s.Name == "t" {
			spec = s.Value
		}
		more, ok := odTypes(spec)
		if !ok {
			return c.Die(1, "invalid type string %s", command.Quote(spec))
		}
		types = append(types, more...)
	}
	if types == nil {
		types = []odType{{kind: 'o', size: 2}}
	}
	width := 16
	if o.On("w") {
		if n, ok := command.Atoi(o.Value("w", "32")); ok && n > 0 && n <= 4096 {
			width = n
		} else {
			width = 32
		}
	}
	var in io.Reader = c.Concat(o.Args)
	offset := int64(0)
	if n, ok := command.Size(o.Value("j", "0")); ok {
		offset, _ = io.CopyN(io.Discard, in, n)
	}
	if n := o.Value("N", ""); n != "" {
		if most, ok := command.Size(n); ok {
			in = io.LimitReader(in, most)
		}
	}
	dump := dumper{c: c, types: types, width: width, offset: offset, all: o.On("v")}
	dump.address = map[string]string{"d": "%07d", "o": "%07o", "x": "%06x", "n": ""}[o.Value("A", "o")]
	dump.run(in)
	return c.Status
}

// dumper prints the lines of od.
type dumper struct {
	c       *command.Call
	types   []odType
	width   int
	offset  int64
	address string
	all     bool
}

func (d *dumper) run(in io.Reader) {
	// A unit takes as many columns as the widest of all types needs for it.
	cell := 0
	for _, t := range d.types {
		cell = max(cell, (t.width()+1+t.size-1)/t.size)
	}
	d.offset = squeezed(d.c, in, d.width, d.offset, d.all, func(b []byte, at int64) {
		for i, t := range d.types {
			head := ""
			if d.address != "" {
				head = fmt.Sprintf(d.address, at)
			}
			if i > 0 {
				head = strings.Repeat(" ", len(head))
			}
			d.c.Print(head)
			pad := cell * t.size
			if len(d.types) == 1 {
				pad = t.width() + 1
			}
			for at := 0; at < len(b); at += t.size {
				d.c.Printf("%*s", pad, t.format(b[at:min(len(b), at+t.size)]))
			}
			if t.text {
				d.c.Print(strings.Repeat(" ", pad*((d.width-len(b))/t.size)) + "  >")
				for _, ch := range b {
					d.c.Out.WriteByte(printable(ch))
				}
				d.c.Print("<")
			}
			d.c.Print("\n")
		}
	})
	if d.address != "" {
		d.c.Printf(d.address+"\n", d.offset)
	}
}
