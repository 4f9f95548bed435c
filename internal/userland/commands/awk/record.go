package awk

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"coderunner/internal/userland/regex"
)

// record is $0 and its fields.
type record struct {
	*settings
	text   string
	fields []value // from 1
	nf     *value  // the variable NF
	split  bool    // fields are those of the text
	stale  bool    // the text is not that of the fields
	fs     string
	fsExpr regex.Pattern
	fpat   regex.Pattern // what fields match; nil: FS separates them
	widths []width       // of the fields; nil: they are not cut by width

	charged  int64 // bytes of the text and of the slice of fields
	assigned int   // at least the bytes of the fields that were assigned
}

// valueCost is what a value takes beside its string.
const valueCost = 40

// set sets $0.
func (f *record) set(s string) {
	f.text, f.split, f.stale, f.assigned = s, false, false, 0
	f.charge()
}

// charge has charged what the record takes now.
func (f *record) charge() {
	now := int64(len(f.text) + valueCost*cap(f.fields) + f.assigned)
	f.hold(now - f.charged)
	f.charged = now
}

// splitFields splits the record when a field is asked for.
func (f *record) splitFields() {
	if f.split {
		return
	}
	f.split = true
	switch {
	case f.fpat != nil:
		f.fields = f.matched(f.text, f.fields[:0])
	case f.widths != nil:
		f.fields = f.measured(f.text, f.fields[:0])
	default:
		f.fields = f.cut(f.text, f.fs, f.fsExpr, f.rs == "", f.fields[:0])
	}
	*f.nf = num(float64(len(f.fields)))
	f.charge()
}

// matched appends to out what matches FPAT: an empty match only where no field ends.
func (f *record) matched(s string, out []value) []value {
	end := -1
	for _, m := range f.findAll(f.fpat, s, -1) {
		if m[1] > m[0] || m[0] != end {
			out = f.push(out, s[m[0]:m[1]])
		}
		end = m[1]
	}
	return out
}

// push appends a field.
func (m *memory) push(out []value, s string) []value {
	if len(out) == cap(out) {
		m.room(2 * valueCost * len(out))
	}
	return append(out, value{kind: input, s: s})
}

// findAll returns up to n matches of a pattern in a string, all if n is negative.
func (m *memory) findAll(p regex.Pattern, s string, n int) [][]int {
	m.room(len(s))
	found, err := regex.FindAll(p, []byte(s), n, func(n int) error {
		m.room(n)
		return nil
	})
	m.c.Check(err)
	return found
}

// width is that of a field in characters, after those that are skipped before it.
type width struct{ skip, length int }

// fieldWidths reads FIELDWIDTHS: "5 2:3 *". It ends at what is none.
func fieldWidths(s string) (widths []width) {
	for _, word := range strings.Fields(s) {
		skip, length, both := strings.Cut(word, ":")
		if !both {
			skip, length = "0", word
		}
		var w width
		var err, failed error
		w.skip, err = strconv.Atoi(skip)
		if w.length = math.MaxInt; length != "*" {
			w.length, failed = strconv.Atoi(length)
		}
		if err != nil || failed != nil || w.skip < 0 || w.length < 0 {
			break
		}
		widths = append(widths, w)
	}
	return widths
}

// measured appends to out the fields of the widths.
func (f *record) measured(s string, out []value) []value {
	rest := []rune(s)
	for _, w := range f.widths {
		rest = rest[min(w.skip, len(rest)):]
		if len(rest) == 0 {
			break
		}
		n := min(w.length, len(rest))
		out = append(out, value{kind: input, s: string(rest[:n])})
		rest = rest[n:]
	}
	return out
}

// cut splits a string at a separator as FS does and appends the parts to out.
func (f *settings) cut(s, fs string, expr regex.Pattern, paragraph bool, out []value) []value {
	switch {
	case fs == " ":
		for i := 0; i < len(s); {
			for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n') {
				i++
			}
			start := i
			for i < len(s) && s[i] != ' ' && s[i] != '\t' && s[i] != '\n' {
				i++
			}
			if i > start {
				out = f.push(out, s[start:i])
			}
		}
		return out
	case s == "":
		return out
	case fs == "" && expr == nil:
		for s != "" {
			_, n := utf8.DecodeRuneInString(s)
			out, s = f.push(out, s[:n]), s[n:]
		}
		return out
	case expr == nil && len(fs) == 1 && fs != `\` && !paragraph:
		for at := strings.IndexByte(s, fs[0]); at >= 0; at = strings.IndexByte(s, fs[0]) {
			out, s = f.push(out, s[:at]), s[at+1:]
		}
		return f.push(out, s)
	}
	if expr == nil {
		source := fs
		if len(fs) == 1 {
			source = "[" + fs + "]"
		}
		if paragraph {
			source = "(" + source + ")|\n"
		}
		expr = f.regex(source)
	}
	end := 0
	for _, m := range f.findAll(expr, s, -1) {
		if m[1] > m[0] {
			out = f.push(out, s[end:m[0]])
			end = m[1]
		}
	}
	return f.push(out, s[end:])
}

// setNF changes the number of fields.
func (f *record) setNF(n int) {
	f.splitFields()
	n = max(0, min(n, maxFields))
	if n > cap(f.fields) {
		f.room(2 * valueCost * n)
	}
	for len(f.fields) < n {
		f.fields = append(f.fields, value{})
	}
	clear(f.fields[n:])
	f.fields = f.fields[:n]
	f.stale = true
	*f.nf = num(float64(n))
	f.charge()
}

// maxFields bounds the fields of a record.
const maxFields = 1 << 20

// line returns $0, joined from the fields if one was changed.
func (f *record) line() string {
	if !f.stale {
		return f.text
	}
	parts, size := make([]string, len(f.fields)), 0
	for i, v := range f.fields {
		parts[i] = v.str(f.convfmt)
		size += len(parts[i]) + len(f.ofs)
	}
	f.room(size)
	f.text, f.stale = strings.Join(parts, f.ofs), false
	f.charge()
	return f.text
}

func (f *record) field(n int) value {
	switch {
	case n < 0:
		f.c.Throw("attempt to access field %d", n)
	case n == 0:
		return value{kind: input, s: f.line()}
	}
	f.splitFields()
	if n > len(f.fields) {
		return value{kind: input}
	}
	return f.fields[n-1]
}

func (f *record) setField(n int, v value) {
	switch {
	case n < 0 || n > maxFields:
		f.c.Throw("invalid field index $%d", n)
	case n == 0:
		f.set(v.str(f.convfmt))
		return
	}
	f.splitFields()
	if n > len(f.fields) {
		f.setNF(n)
	}
	f.fields[n-1], f.stale = v, true
	if f.assigned += len(v.s); f.assigned > 1<<20 {
		f.assigned = 0
		for _, field := range f.fields {
			f.assigned += len(field.s)
		}
	}
	f.charge()
}
