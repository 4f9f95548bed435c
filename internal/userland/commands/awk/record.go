package awk

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"coderunner/internal/userland/regex"
)

// setRecord sets $0.
func (r *run) setRecord(s string) { r.record, r.split, r.stale = s, false, false }

// splitFields splits the record when a field is asked for.
func (r *run) splitFields() error {
	if r.split {
		return nil
	}
	r.split = true
	if r.fpat != nil || r.widths != nil {
		if r.fpat != nil {
			r.fields = r.matched(r.record, r.fields[:0])
		} else {
			r.fields = r.measured(r.record, r.fields[:0])
		}
		r.nf = len(r.fields)
		r.globals[varNF].v = num(float64(r.nf))
		return nil
	}
	parts, err := r.cut(r.record, r.fs, r.fsExpr, r.rs == "", r.fields[:0])
	r.fields = parts
	r.nf = len(parts)
	r.globals[varNF].v = num(float64(r.nf))
	return err
}

// matched appends to out what matches FPAT: an empty match only where no field ends.
func (r *run) matched(s string, out []value) []value {
	end := -1
	for _, m := range r.fpat.FindAllSubmatchIndex([]byte(s), -1) {
		if m[1] > m[0] || m[0] != end {
			out = append(out, value{kind: input, s: s[m[0]:m[1]]})
		}
		end = m[1]
	}
	return out
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
func (r *run) measured(s string, out []value) []value {
	rest := []rune(s)
	for _, w := range r.widths {
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
func (r *run) cut(s, fs string, expr regex.Pattern, paragraph bool, out []value) ([]value, error) {
	add := func(part string) { out = append(out, value{kind: input, s: part}) }
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
				add(s[start:i])
			}
		}
	case s == "":
	case fs == "" && expr == nil:
		for _, ch := range s {
			add(string(ch))
		}
	case expr == nil && len(fs) == 1 && fs != `\` && !paragraph:
		for {
			at := strings.IndexByte(s, fs[0])
			if at < 0 {
				break
			}
			add(s[:at])
			s = s[at+1:]
		}
		add(s)
	default:
		if expr == nil {
			source := fs
			if len(fs) == 1 {
				source = "[" + fs + "]"
			}
			if paragraph {
				source = "(" + source + ")|\n"
			}
			var err error
			if expr, err = r.regex(source); err != nil {
				return out, err
			}
		}
		end := 0
		for _, m := range expr.FindAllSubmatchIndex([]byte(s), -1) {
			if m[1] > m[0] {
				add(s[end:m[0]])
				end = m[1]
			}
		}
		add(s[end:])
	}
	return out, nil
}

// setNF changes the number of fields.
func (r *run) setNF(n int) {
	r.splitFields()
	n = max(0, min(n, maxFields))
	for len(r.fields) < n {
		r.fields = append(r.fields, value{})
	}
	clear(r.fields[n:])
	r.fields = r.fields[:n]
	r.nf, r.stale = n, true
	r.globals[varNF].v = num(float64(n))
}

// maxFields bounds the fields of a record.
const maxFields = 1 << 20

// line returns $0, joined from the fields if one was changed.
func (r *run) line() string {
	if r.stale {
		parts := make([]string, len(r.fields))
		for i, f := range r.fields {
			parts[i] = f.str(r.convfmt)
		}
		r.record, r.stale = strings.Join(parts, r.ofs), false
	}
	return r.record
}

func (r *run) field(n int) (value, error) {
	switch {
	case n < 0:
		return value{}, fmt.Errorf("attempt to access field %d", n)
	case n == 0:
		return value{kind: input, s: r.line()}, nil
	}
	if err := r.splitFields(); err != nil || n > len(r.fields) {
		return value{kind: input}, err
	}
	return r.fields[n-1], nil
}

func (r *run) setField(n int, v value) error {
	switch {
	case n < 0 || n > maxFields:
		return fmt.Errorf("invalid field index $%d", n)
	case n == 0:
		r.setRecord(v.str(r.convfmt))
		return nil
	}
	if err := r.splitFields(); err != nil {
		return err
	}
	if n > len(r.fields) {
		r.setNF(n)
	}
	if v.kind == numeric {
		v = value{kind: numeric, n: v.n}
	}
	r.fields[n-1], r.stale = v, true
	return nil
}
