package system

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/printf"
)

// Seq prints a sequence of numbers.
func Seq(c *command.Call) int {
	c.Args = seqArgs(c.Args)
	o := c.Parse("+ f,format= s,separator= w,equal-width", 1, 3)
	n, written := []float64{1, 1, 0}, [3]string{"1", "1", "1"}
	precision := 0
	for i, a := range o.Args {
		v, err := strconv.ParseFloat(a, 64)
		if err != nil || math.IsNaN(v) {
			return c.Usage(1, "invalid floating point argument: %s", command.Quote(a))
		}
		slot := i
		if len(o.Args) == 1 || i == len(o.Args)-1 {
			slot = 2
		}
		n[slot], written[slot] = v, strings.TrimLeft(a, " +")
		_, part, point := strings.Cut(a, ".")
		if point && slot < 2 && !strings.ContainsAny(a, "eE") {
			precision = max(precision, len(part))
		}
	}
	if n[1] == 0 {
		return c.Usage(1, "invalid Zero increment value: %s", command.Quote(o.Args[1]))
	}
	d := printf.Directive{Verb: 'f', Width: -1, Precision: min(precision, 100)}
	format := func(v float64) string { return d.FormatFloat(v) }
	if o.On("w") {
		d.Width, d.Flags = max(len(format(n[0])), len(format(n[2])), seqWidth(written[0], precision), seqWidth(written[2], precision)), "0"
	}
	if f := o.Value("f", ""); f != "" {
		var err error
		format, err = seqFormat(f)
		c.Must(err)
	}
	plain := precision == 0 && d.Width < 0 && !o.On("f")
	sep, some := o.Value("s", "\n"), false
	for i := 0.0; ; i++ {
		v := n[0] + i*n[1]
		// A sum of decimal fractions may be past the end by a rounding.
		if over := (v - n[2]) * n[1]; over > 0 && format(v) != format(n[2]) || over > math.Abs(n[1]*n[1])/2 {
			break
		}
		if some {
			c.Print(sep)
		}
		some = true
		if plain && math.Abs(v) < 1e15 {
			c.Out.Write(strconv.AppendInt(c.Out.AvailableBuffer(), int64(v), 10))
		} else {
			c.Print(format(v))
		}
		if int(i)&0xff == 0 && c.Stopped() {
			return 1
		}
	}
	if some {
		c.Print("\n")
	}
	return 0
}

// seqWidth is how wide a number of the command line is with as many decimals: seq -w 001 9
// counts to 009.
func seqWidth(number string, decimals int) int {
	if strings.ContainsAny(number, "eExX") {
		return 0
	}
	whole, _, _ := strings.Cut(number, ".")
	if decimals > 0 {
		return len(whole) + 1 + decimals
	}
	return len(whole)
}

// seqArgs puts "--" before a negative number, which is an operand.
func seqArgs(args []string) []string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "" || a[0] != '-' {
			break
		}
		if a == "-s" || a == "-f" || a == "--separator" || a == "--format" {
			i++
			continue
		}
		if len(a) > 1 && (a[1] >= '0' && a[1] <= '9' || a[1] == '.') {
			return slices.Insert(slices.Clone(args), i, "--")
		}
	}
	return args
}

// seqFormat reads the format of -f.
func seqFormat(f string) (func(float64) string, error) {
	at := strings.IndexByte(strings.ReplaceAll(f, "%%", "\x00\x00"), '%')
	if at < 0 {
		return nil, fmt.Errorf("format %s has no %% directive", command.Quote(f))
	}
	d, rest, ok := printf.NextDirective(f[at:])
	if !ok || strings.IndexByte("efgEFGaA", d.Verb) < 0 {
		return nil, fmt.Errorf("format %s has unknown %%%c directive", command.Quote(f), d.Verb)
	}
	before := strings.ReplaceAll(f[:at], "%%", "%")
	if strings.Contains(strings.ReplaceAll(rest, "%%", ""), "%") {
		return nil, fmt.Errorf("format %s has too many %% directives", command.Quote(f))
	}
	rest = strings.ReplaceAll(rest, "%%", "%")
	return func(v float64) string { return before + d.FormatFloat(v) + rest }, nil
}

// Yes prints a line until killed.
func Yes(c *command.Call) int {
	line := strings.Join(c.Args, " ") + "\n"
	if len(c.Args) == 0 {
		line = "y\n"
	}
	block := []byte(strings.Repeat(line, max(1, 8192/len(line))))
	for !c.Stopped() {
		c.Out.Write(block)
	}
	return 0
}
