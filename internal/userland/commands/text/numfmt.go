package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/printf"
)

// Numfmt converts numbers from and to human-readable forms.
func Numfmt(c *command.Call) int {
	o := c.Parse("from= to= from-unit= to-unit= d,delimiter= field= format= header=? padding= round= suffix= grouping invalid= z,zero-terminated")
	for _, name := range []string{"from", "to"} {
		switch v := o.Value(name, "none"); v {
		case "none", "auto", "si", "iec", "iec-i":
		default:
			return c.Usage(1, "invalid argument %s for '--%s'", command.Quote(v), name)
		}
	}
	fields, bad := spans(o.Value("field", "1"))
	if bad != "" {
		return c.Usage(1, "invalid field value %s", command.Quote(bad))
	}
	for _, a := range o.Args {
		numfmtLine(c, o, fields, a)
	}
	if len(o.Args) > 0 {
		return c.Status
	}
	header := 0
	if o.On("header") {
		header = 1
		if n, ok := command.Atoi(o.Value("header", "")); ok {
			header = n
		}
	}
	l := c.Lines(c.In(), command.LineEnd(o.On("z")))
	for line := range l.All() {
		if header > 0 {
			header--
			c.Printf("%s\n", line)
			continue
		}
		numfmtLine(c, o, fields, string(line))
	}
	return c.Status
}

// numfmtLine prints a line with its fields converted. One that is no number ends
// numfmt, unless --invalid is given.
func numfmtLine(c *command.Call, o *command.Options, fields []span, line string) {
	delim, parts := " ", blankFields(line)
	if d := o.Value("d", ""); d != "" {
		delim, parts = d, strings.Split(line, d)
	}
	for _, r := range fields {
		for i := r.from; i <= min(r.to, len(parts)); i++ {
			number := strings.TrimLeft(parts[i-1], " \t")
			s, err := numfmtOne(number, o)
			if !o.On("d") && !o.On("padding") && (i > 1 || number != parts[i-1]) {
				s = fmt.Sprintf("%*s", len(parts[i-1]), s) // as wide as it was
			}
			switch {
			case err == nil:
				parts[i-1] = s
			case o.Value("invalid", "abort") == "abort":
				c.Exit(2, "%s", err)
			default:
				c.Errorf("%s", err)
				c.Status = 2
			}
		}
	}
	c.Printf("%s%c", strings.Join(parts, delim), command.LineEnd(o.On("z")))
}

// blankFields splits a line where fields end; each has the blanks before it but the first.
func blankFields(line string) (fields []string) {
	for {
		at := len(line) - len(strings.TrimLeft(line, " \t"))
		end := strings.IndexAny(line[at:], " \t")
		if end < 0 {
			return append(fields, line)
		}
		fields, line = append(fields, line[:at+end]), line[at+end+1:]
	}
}

func numfmtOne(s string, o *command.Options) (string, error) {
	number := strings.TrimSuffix(s, o.Value("suffix", ""))
	end := printf.FloatLen(number)
	v, err := strconv.ParseFloat(number[:end], 64)
	if err != nil || end == 0 {
		return "", fmt.Errorf("invalid number: %s", command.Quote(s))
	}
	unit := number[end:]
	from := o.Value("from", "none")
	switch at := strings.IndexByte(command.Units, (unit + " ")[0]); {
	case unit == "":
	case from == "none":
		return "", fmt.Errorf("rejecting suffix in input: %s (consider using --from)", command.Quote(s))
	case at < 0:
		return "", fmt.Errorf("invalid suffix in input: %s", command.Quote(s))
	default:
		base := 1024.0
		rest := unit[1:]
		if from == "si" || from == "auto" && rest != "i" {
			base = 1000
		}
		if rest != "" && !(rest == "i" && (from == "auto" || from == "iec-i")) {
			return "", fmt.Errorf("invalid suffix in input %s: %s", command.Quote(s), command.Quote(rest))
		}
		v *= math.Pow(base, float64(at+1))
	}
	if n, ok := command.Size(o.Value("from-unit", "")); ok && o.On("from-unit") {
		v *= float64(n)
	}
	if n, ok := command.Size(o.Value("to-unit", "")); ok && o.On("to-unit") {
		v /= float64(n)
	}
	out := numfmtScale(v, o, -1)
	if f := o.Value("format", ""); f != "" {
		at := strings.IndexByte(f, '%')
		if at < 0 {
			return "", fmt.Errorf("format %s has no %% directive", command.Quote(f))
		}
		d, rest, ok := printf.NextDirective(f[at:])
		if !ok || d.Verb != 'f' {
			return "", fmt.Errorf("invalid format %s, directive must be %%[0]['][-][N][.][N]f", command.Quote(f))
		}
		switch {
		case d.Precision < 0:
		case o.Value("to", "none") == "none":
			out = strconv.FormatFloat(v, 'f', d.Precision, 64)
		default:
			out = numfmtScale(v, o, min(d.Precision, 100))
		}
		d.Precision = -1
		out = f[:at] + d.FormatString(out) + rest
	}
	out += o.Value("suffix", "")
	if n, ok := command.Atoi(o.Value("padding", "")); ok && n > -printf.MaxWidth && n < printf.MaxWidth {
		out = fmt.Sprintf("%*s", n, out)
	}
	return out, nil
}

// numfmtScale prints a number with the suffix of --to, and as many decimals as precision
// says: -1 is one for a number below 10.
func numfmtScale(v float64, o *command.Options, precision int) string {
	to := o.Value("to", "none")
	round := map[string]func(float64) float64{
		"up": math.Ceil, "down": math.Floor, "towards-zero": math.Trunc, "nearest": math.Round,
	}[o.Value("round", "from-zero")]
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
	s, power := command.Scale(v, base, precision, round)
	return s + scaleUnit(power, to)
}

// scaleUnit is the suffix of a power of the base.
func scaleUnit(power int, to string) string {
	if power == 0 {
		return ""
	}
	return command.Units[power-1:power] + map[string]string{"iec-i": "i"}[to]
}
