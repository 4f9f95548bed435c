package commands

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// numfmt converts numbers from and to human-readable forms.
func numfmt(c *call) int {
	o, status := c.options("from= to= from-unit= to-unit= d,delimiter= field= format= header=? padding= round= suffix= grouping invalid= z,zero-terminated")
	if o == nil {
		return status
	}
	for _, name := range []string{"from", "to"} {
		switch v := o.value(name, "none"); v {
		case "none", "auto", "si", "iec", "iec-i":
		default:
			return c.usage(1, "invalid argument %s for '--%s'", quote(v), name)
		}
	}
	fields, bad := spans(o.value("field", "1"))
	if bad != "" {
		return c.usage(1, "invalid field value %s", quote(bad))
	}
	convert := func(line string) {
		delim := o.value("d", "")
		var parts []string
		if delim != "" {
			parts = strings.Split(line, delim)
		} else {
			parts = strings.Fields(line)
			delim = " "
		}
		for _, r := range fields {
			for i := r.from; i <= min(r.to, len(parts)); i++ {
				s, err := numfmtOne(parts[i-1], o)
				if err != nil {
					c.errorf("%s", err)
					c.status = 2
					if o.value("invalid", "abort") == "abort" {
						return
					}
					continue
				}
				parts[i-1] = s
			}
		}
		c.print(strings.Join(parts, delim))
		c.out.WriteByte(lineEnd(o.on("z")))
	}
	for _, a := range o.args {
		convert(a)
		if c.status != 0 && o.value("invalid", "abort") == "abort" {
			return c.status
		}
	}
	if len(o.args) > 0 {
		return c.status
	}
	header := 0
	if o.on("header") {
		header = 1
		if n, ok := atoi(o.value("header", "")); ok {
			header = n
		}
	}
	l := c.lines(c.in(), lineEnd(o.on("z")))
	for line, ok := l.next(); ok; line, ok = l.next() {
		if header > 0 {
			header--
			c.printf("%s\n", line)
			continue
		}
		convert(string(line))
		if c.status != 0 && o.value("invalid", "abort") == "abort" {
			return c.status
		}
	}
	return c.status
}

func numfmtOne(s string, o *options) (string, error) {
	number := strings.TrimSuffix(s, o.value("suffix", ""))
	end := floatLen(number)
	v, err := strconv.ParseFloat(number[:end], 64)
	if err != nil || end == 0 {
		return "", fmt.Errorf("invalid number: %s", quote(s))
	}
	unit := number[end:]
	from := o.value("from", "none")
	switch at := strings.IndexByte("KMGTPEZY", (unit + " ")[0]); {
	case unit == "":
	case from == "none":
		return "", fmt.Errorf("rejecting suffix in input: %s (consider using --from)", quote(s))
	case at < 0:
		return "", fmt.Errorf("invalid suffix in input: %s", quote(s))
	default:
		base := 1024.0
		rest := unit[1:]
		if from == "si" || from == "auto" && rest != "i" {
			base = 1000
		}
		if rest != "" && !(rest == "i" && (from == "auto" || from == "iec-i")) {
			return "", fmt.Errorf("invalid suffix in input %s: %s", quote(s), quote(rest))
		}
		v *= math.Pow(base, float64(at+1))
	}
	if n, ok := size(o.value("from-unit", "")); ok && o.on("from-unit") {
		v *= float64(n)
	}
	if n, ok := size(o.value("to-unit", "")); ok && o.on("to-unit") {
		v /= float64(n)
	}
	out := numfmtScale(v, o)
	if f := o.value("format", ""); f != "" {
		at := strings.IndexByte(f, '%')
		if at < 0 {
			return "", fmt.Errorf("format %s has no %% directive", quote(f))
		}
		d, rest, ok := nextDirective(f[at:])
		if !ok || d.verb != 'f' {
			return "", fmt.Errorf("invalid format %s, directive must be %%[0]['][-][N][.][N]f", quote(f))
		}
		if o.value("to", "none") == "none" && d.precision >= 0 {
			out = strconv.FormatFloat(v, 'f', d.precision, 64)
		}
		d.precision = -1
		out = f[:at] + d.formatString(out) + rest
	}
	out += o.value("suffix", "")
	if n, ok := atoi(o.value("padding", "")); ok && n > -maxWidth && n < maxWidth {
		out = fmt.Sprintf("%*s", n, out)
	}
	return out, nil
}

// numfmtScale prints a number with the suffix of --to.
func numfmtScale(v float64, o *options) string {
	to := o.value("to", "none")
	round := map[string]func(float64) float64{
		"up": math.Ceil, "down": math.Floor, "towards-zero": math.Trunc, "nearest": math.Round,
	}[o.value("round", "from-zero")]
	if round == nil {
		round = func(f float64) float64 { return math.Copysign(math.Ceil(math.Abs(f)), f) }
	}
	if to == "none" {
		if v == math.Trunc(v) || !strings.Contains(strconv.FormatFloat(v, 'f', -1, 64), ".") {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	base := 1024.0
	if to == "si" {
		base = 1000
	}
	power := 0
	for math.Abs(v) >= base && power < 8 {
		v /= base
		power++
	}
	if power == 0 {
		return strconv.FormatFloat(round(v), 'f', 0, 64)
	}
	var s string
	if rounded := round(v*10) / 10; math.Abs(rounded) < 10 {
		s = strconv.FormatFloat(rounded, 'f', 1, 64)
	} else if rounded = round(v); math.Abs(rounded) >= base && power < 8 {
		power++
		s = strconv.FormatFloat(round(v/base*10)/10, 'f', 1, 64)
	} else {
		s = strconv.FormatFloat(rounded, 'f', 0, 64)
	}
	s += string("KMGTPEZY"[power-1])
	if to == "iec-i" {
		s += "i"
	}
	return s
}
