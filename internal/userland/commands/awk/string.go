package awk

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/printf"
)

func length(r *run, args []*node) (value, error) {
	if len(args) == 0 {
		s, err := r.record.line()
		return num(float64(utf8.RuneCountInString(s))), err
	}
	arr, v, err := r.either(args[0])
	if arr != nil {
		return num(float64(len(arr.m))), nil
	}
	return num(float64(utf8.RuneCountInString(v.str(r.convfmt)))), err
}

func substr(r *run, args []*node) (value, error) {
	s, err := r.strs(args[0])
	if err != nil {
		return value{}, err
	}
	from, err := r.eval(args[1])
	if err != nil {
		return from, err
	}
	start, end := max(1, math.Trunc(from.num())), math.Inf(1) // gawk does not count what is before 1
	if len(args) > 2 {
		n, err := r.eval(args[2])
		if err != nil {
			return n, err
		}
		end = start + math.Trunc(n.num())
	}
	runes := utf8.RuneCountInString(s[0])
	lo, hi := int(max(1, min(start, float64(runes+1)))), int(max(1, min(end, float64(runes+1))))
	if math.IsNaN(start) || math.IsNaN(end) || hi <= lo {
		return str(""), nil
	}
	if runes == len(s[0]) {
		return str(piece(s[0], lo-1, hi-1)), nil
	}
	first := runeAt(s[0], lo-1)
	return str(piece(s[0], first, first+runeAt(s[0][first:], hi-lo))), nil
}

// runeAt returns where the character n of a string begins.
func runeAt(s string, n int) int {
	for at := range s {
		if n == 0 {
			return at
		}
		n--
	}
	return len(s)
}

func index(r *run, args []*node) (value, error) {
	s, err := r.strs(args...)
	if err != nil {
		return value{}, err
	}
	at := strings.Index(s[0], s[1])
	if at < 0 {
		return num(0), nil
	}
	return num(float64(utf8.RuneCountInString(s[0][:at]) + 1)), nil
}

func split(r *run, args []*node) (value, error) {
	s, err := r.strs(args[0])
	if err != nil {
		return value{}, err
	}
	arr, err := r.array(args[1])
	if err != nil {
		return value{}, err
	}
	fs, expr := r.record.fs, r.record.fsExpr
	if len(args) > 2 {
		if args[2].op == "regex" {
			if fs = ""; args[2].text != "" { // // separates letters, as "" does
				expr = r.literal(args[2])
			} else {
				expr = nil
			}
		} else {
			sep, err := r.strs(args[2])
			if err != nil {
				return value{}, err
			}
			fs, expr = sep[0], nil
		}
	}
	parts, err := r.cut(s[0], fs, expr, false, nil)
	if err != nil {
		return value{}, err
	}
	r.empty(arr)
	for i, p := range parts {
		if err := r.put(arr, strconv.Itoa(i+1), p); err != nil {
			return value{}, err
		}
	}
	return num(float64(len(parts))), nil
}

func match(r *run, args []*node) (value, error) {
	s, err := r.strs(args[0])
	if err != nil {
		return value{}, err
	}
	p, err := r.pattern(args[1])
	if err != nil {
		return value{}, err
	}
	start, length := 0, -1
	found, err := r.findAll(p, s[0], 1)
	if err != nil {
		return value{}, err
	}
	if found != nil {
		start = utf8.RuneCountInString(s[0][:found[0][0]]) + 1
		length = utf8.RuneCountInString(s[0][found[0][0]:found[0][1]])
	}
	r.globals[varRSTART].v, r.globals[varRLENGTH].v = num(float64(start)), num(float64(length))
	if len(args) > 2 {
		arr, err := r.array(args[2])
		if err != nil {
			return value{}, err
		}
		r.empty(arr)
		for i := 0; found != nil && i < len(found[0]); i += 2 {
			if m := found[0][i : i+2]; m[0] >= 0 {
				if err := r.put(arr, strconv.Itoa(i/2), value{kind: input, s: s[0][m[0]:m[1]]}); err != nil {
					return value{}, err
				}
			}
		}
	}
	return num(float64(start)), nil
}

func sub(r *run, args []*node) (value, error) { return r.replace(args, 1) }

func gsub(r *run, args []*node) (value, error) { return r.replace(args, -1) }

// replace is sub and gsub.
func (r *run) replace(args []*node, n int) (value, error) {
	p, err := r.pattern(args[0])
	if err != nil {
		return value{}, err
	}
	with, err := r.strs(args[1])
	if err != nil {
		return value{}, err
	}
	target := &node{op: "field", a: &node{op: "const"}}
	if len(args) > 2 {
		target = args[2]
	}
	v, err := r.eval(target)
	if err != nil {
		return v, err
	}
	s := v.str(r.convfmt)
	found, err := r.findAll(p, s, n)
	if found == nil || err != nil {
		return num(0), err
	}
	out, err := r.replaced(s, found, with[0], false)
	if err != nil {
		return v, err
	}
	if !target.lvalue() {
		return num(float64(len(found))), nil
	}
	return num(float64(len(found))), r.assign(target, str(out))
}

// replaced puts the replacement in the place of all matches: "&" is the match,
// with groups also \1 and so on.
func (m *memory) replaced(s string, found [][]int, with string, groups bool) (string, error) {
	var b strings.Builder
	end, room := 0, 0
	for i, at := range found {
		if i&0xfff == 0xfff && m.c.Stopped() {
			return "", command.ErrStopped
		}
		if b.Len() >= room {
			if err := m.room(2*b.Len() + len(s) - room); err != nil {
				return "", err
			}
			room = 2*b.Len() + len(s)
		}
		b.WriteString(s[end:at[0]])
		end = at[1]
		for i := 0; i < len(with); i++ {
			switch ch := with[i]; {
			case ch == '&':
				b.WriteString(s[at[0]:at[1]])
			case ch == '\\' && i+1 < len(with) && (with[i+1] == '&' || with[i+1] == '\\'):
				i++
				b.WriteByte(with[i])
			case ch == '\\' && groups && i+1 < len(with) && with[i+1] >= '0' && with[i+1] <= '9':
				i++
				if g := int(with[i]-'0') * 2; g < len(at) && at[g] >= 0 {
					b.WriteString(s[at[g]:at[g+1]])
				}
			default:
				b.WriteByte(ch)
			}
		}
	}
	b.WriteString(s[end:])
	return b.String(), nil
}

func gensub(r *run, args []*node) (value, error) {
	p, err := r.pattern(args[0])
	if err != nil {
		return value{}, err
	}
	s, err := r.strs(args[1:3]...)
	if err != nil {
		return value{}, err
	}
	subject, err := r.record.line()
	if err != nil {
		return value{}, err
	}
	if len(args) > 3 {
		t, err := r.strs(args[3])
		if err != nil {
			return value{}, err
		}
		subject = t[0]
	}
	found, err := r.findAll(p, subject, -1)
	if err != nil {
		return value{}, err
	}
	if how := s[1]; how == "" || how[0]|32 != 'g' {
		nth := max(1, int(number0(how)))
		if nth > len(found) {
			return str(subject), nil
		}
		found = found[nth-1 : nth]
	}
	out, err := r.replaced(subject, found, s[0], true)
	return str(out), err
}

func sprintfCall(r *run, args []*node) (value, error) {
	var values []value
	for _, a := range args {
		v, err := r.eval(a)
		if err != nil {
			return v, err
		}
		values = append(values, v)
	}
	s, err := r.sprintf(values)
	return str(s), err
}

func (m *settings) sprintf(values []value) (string, error) {
	format := values[0].str(m.convfmt)
	s, short, err := sprintf(format, values[1:], m.convfmt, m.room)
	if err != nil {
		return "", err
	}
	if short >= 0 {
		return "", fmt.Errorf("not enough arguments to satisfy format string\n\t`%s'\n\t%*s^ ran out for this one", format, short+1, "")
	}
	return s, nil
}

// sprintf formats values; missing ones are empty. short is where the first one is
// missing, -1 if none is. room is asked for what the text takes.
func sprintf(format string, values []value, convfmt string, room func(int) error) (out string, short int, err error) {
	var b strings.Builder
	whole := len(format)
	short = -1
	take := func() (v value) {
		if len(values) > 0 {
			v, values = values[0], values[1:]
		} else if short < 0 {
			short = whole - len(format)
		}
		return v
	}
	for format != "" {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			b.WriteString(format)
			break
		}
		b.WriteString(format[:at])
		format = format[at:]
		if strings.HasPrefix(format, "%%") {
			b.WriteByte('%')
			format = format[2:]
			continue
		}
		d, rest, ok := printf.NextDirective(format)
		if !ok {
			b.WriteString(format)
			break
		}
		if d.StarWidth {
			d.Star(true, int(take().num()))
		}
		if d.StarPrec {
			d.Star(false, int(take().num()))
		}
		if strings.IndexByte("dioxXuefgEFGcs", d.Verb) < 0 {
			b.WriteString(d.Source)
		} else {
			v := take()
			if n := max(d.Width, d.Precision, len(v.s)); n > 1<<10 {
				if err := room(3 * n); err != nil {
					return "", short, err
				}
			}
			b.WriteString(convert(d, v, convfmt))
		}
		format = rest
	}
	return b.String(), short, nil
}

// unbounded returns what gawk prints of a number that is infinite or none.
func unbounded(n float64) string {
	sign, name := "+", "inf"
	if math.Signbit(n) {
		sign = "-"
	}
	if math.IsNaN(n) {
		name = "nan"
	}
	return sign + name
}

// convert formats one value.
func convert(d printf.Directive, v value, convfmt string) string {
	if n := v.num(); d.Verb != 's' && d.Verb != 'c' && (math.IsInf(n, 0) || math.IsNaN(n)) {
		d.Precision = -1
		return d.FormatString(unbounded(n))
	}
	switch d.Verb {
	case 's':
		return d.FormatString(v.str(convfmt))
	case 'c':
		if v.kind == numeric {
			return d.FormatString(string(rune(int(v.n))))
		}
		s := v.str(convfmt)
		_, n := utf8.DecodeRuneInString(s)
		return d.FormatString(s[:n])
	case 'o', 'x', 'X', 'u':
		return d.FormatUint(uint64(int64(v.num())))
	case 'd', 'i':
		n := v.num()
		if math.Abs(n) < 1<<63 {
			return d.FormatInt(int64(n))
		}
		d.Verb, d.Precision = 'f', 0 // also for what is not a number
	}
	return d.FormatFloat(v.num())
}
