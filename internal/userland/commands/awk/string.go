package awk

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"coderunner/internal/userland/printf"
)

func length(r *run, args []*node) value {
	if len(args) == 0 {
		return num(float64(utf8.RuneCountInString(r.record.line())))
	}
	arr, v := r.either(args[0])
	if arr != nil {
		return num(float64(len(arr.m)))
	}
	return num(float64(utf8.RuneCountInString(v.str(r.convfmt))))
}

func substr(r *run, args []*node) value {
	s := r.eval(args[0]).str(r.convfmt)
	start, end := max(1, math.Trunc(r.eval(args[1]).num())), math.Inf(1) // gawk does not count what is before 1
	if len(args) > 2 {
		end = start + math.Trunc(r.eval(args[2]).num())
	}
	runes := utf8.RuneCountInString(s)
	lo, hi := int(max(1, min(start, float64(runes+1)))), int(max(1, min(end, float64(runes+1))))
	if math.IsNaN(start) || math.IsNaN(end) || hi <= lo {
		return str("")
	}
	if runes == len(s) {
		return str(piece(s, lo-1, hi-1))
	}
	first := runeAt(s, lo-1)
	return str(piece(s, first, first+runeAt(s[first:], hi-lo)))
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

func index(r *run, args []*node) value {
	s := r.strs(args...)
	at := strings.Index(s[0], s[1])
	if at < 0 {
		return num(0)
	}
	return num(float64(utf8.RuneCountInString(s[0][:at]) + 1))
}

func split(r *run, args []*node) value {
	s := r.eval(args[0]).str(r.convfmt)
	arr := r.array(args[1])
	fs, expr := r.record.fs, r.record.fsExpr
	switch {
	case len(args) < 3:
	case args[2].op != "regex":
		fs, expr = r.eval(args[2]).str(r.convfmt), nil
	case args[2].text == "": // // separates letters, as "" does
		fs, expr = "", nil
	default:
		fs, expr = "", r.literal(args[2])
	}
	parts := r.cut(s, fs, expr, false, nil)
	r.empty(arr)
	for i, p := range parts {
		r.put(arr, strconv.Itoa(i+1), p)
	}
	return num(float64(len(parts)))
}

func match(r *run, args []*node) value {
	s := r.eval(args[0]).str(r.convfmt)
	start, length := 0, -1
	found := append(r.findAll(r.pattern(args[1]), s, 1), nil)[0]
	if found != nil {
		start = utf8.RuneCountInString(s[:found[0]]) + 1
		length = utf8.RuneCountInString(s[found[0]:found[1]])
	}
	r.globals[varRSTART].v, r.globals[varRLENGTH].v = num(float64(start)), num(float64(length))
	if len(args) > 2 {
		arr := r.array(args[2])
		r.empty(arr)
		for i := 0; i < len(found); i += 2 {
			if found[i] >= 0 {
				r.put(arr, strconv.Itoa(i/2), value{kind: input, s: s[found[i]:found[i+1]]})
			}
		}
	}
	return num(float64(start))
}

func sub(r *run, args []*node) value { return r.replace(args, 1) }

func gsub(r *run, args []*node) value { return r.replace(args, -1) }

// replace is sub and gsub.
func (r *run) replace(args []*node, n int) value {
	p := r.pattern(args[0])
	with := r.eval(args[1]).str(r.convfmt)
	target := &node{op: "field", a: &node{op: "const"}}
	if len(args) > 2 {
		target = args[2]
	}
	s := r.eval(target).str(r.convfmt)
	found := r.findAll(p, s, n)
	if found != nil && target.lvalue() {
		r.assign(target, str(r.replaced(s, found, with, false)))
	}
	return num(float64(len(found)))
}

// replaced puts the replacement in the place of all matches: "&" is the match,
// with groups also \1 and so on.
func (m *memory) replaced(s string, found [][]int, with string, groups bool) string {
	var b strings.Builder
	end, room := 0, 0
	for i, at := range found {
		if i&0xfff == 0xfff {
			m.c.Proceed()
		}
		if b.Len() >= room {
			m.room(2*b.Len() + len(s) - room)
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
	return b.String()
}

func gensub(r *run, args []*node) value {
	p := r.pattern(args[0])
	s := r.strs(args[1:3]...)
	subject := r.record.line()
	if len(args) > 3 {
		subject = r.eval(args[3]).str(r.convfmt)
	}
	found := r.findAll(p, subject, -1)
	if how := s[1]; how == "" || how[0]|32 != 'g' {
		nth := max(1, int(number0(how)))
		if nth > len(found) {
			return str(subject)
		}
		found = found[nth-1 : nth]
	}
	return str(r.replaced(subject, found, s[0], true))
}

func sprintfCall(r *run, args []*node) value { return str(r.sprintf(r.values(args))) }

func (m *settings) sprintf(values []value) string {
	format := values[0].str(m.convfmt)
	s, short := sprintf(format, values[1:], m.convfmt, m.room)
	if short >= 0 {
		m.c.Throw("not enough arguments to satisfy format string\n\t`%s'\n\t%*s^ ran out for this one", format, short+1, "")
	}
	return s
}

// sprintf formats values; missing ones are empty. short is where the first one is
// missing, -1 if none is. room is asked for what the text takes.
func sprintf(format string, values []value, convfmt string, room func(int)) (out string, short int) {
	var b strings.Builder
	short = -1
	printf.Format(format, nil, func(s string) { b.WriteString(s) }, func(d printf.Directive, rest string) (string, int) {
		take := func() (v value) {
			if len(values) > 0 {
				v, values = values[0], values[1:]
			} else if short < 0 {
				short = len(format) - len(rest) - len(d.Source)
			}
			return v
		}
		if d.StarWidth {
			d.Star(true, int(take().num()))
		}
		if d.StarPrec {
			d.Star(false, int(take().num()))
		}
		if strings.IndexByte("dioxXuefgEFGcs", d.Verb) < 0 {
			return d.Source, 0
		}
		v := take()
		if n := max(d.Width, d.Precision, len(v.s)); n > 1<<10 {
			room(3 * n)
		}
		return convert(d, v, convfmt), 0
	})
	return b.String(), short
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
