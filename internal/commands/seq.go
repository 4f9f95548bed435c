package commands

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

func seq(c *call) int {
	c.args = seqArgs(c.args)
	o, status := c.options("+ f,format= s,separator= w,equal-width")
	if o == nil {
		return status
	}
	switch {
	case len(o.args) == 0:
		return c.usage(1, "missing operand")
	case len(o.args) > 3:
		return c.extra(o.args[3])
	}
	n := []float64{1, 1, 0}
	precision := 0
	for i, a := range o.args {
		v, err := strconv.ParseFloat(a, 64)
		if err != nil || math.IsNaN(v) {
			return c.usage(1, "invalid floating point argument: %s", quote(a))
		}
		slot := i
		if len(o.args) == 1 || i == len(o.args)-1 {
			slot = 2
		}
		n[slot] = v
		_, part, point := strings.Cut(a, ".")
		if point && slot < 2 && !strings.ContainsAny(a, "eE") {
			precision = max(precision, len(part))
		}
	}
	if n[1] == 0 {
		return c.usage(1, "invalid Zero increment value: %s", quote(o.args[1]))
	}
	d := directive{verb: 'f', width: -1, precision: min(precision, 100)}
	format := func(v float64) string { return d.formatFloat(v) }
	if o.on("w") {
		d.width, d.flags = max(len(format(n[0])), len(format(n[2]))), "0"
	}
	if f := o.value("f", ""); f != "" {
		var problem string
		if format, problem = seqFormat(f); problem != "" {
			return c.die(1, "%s", problem)
		}
	}
	sep := o.value("s", "\n")
	some := false
	for i := 0.0; ; i++ {
		v := n[0] + i*n[1]
		// A sum of decimal fractions may be past the end by a rounding.
		if over := (v - n[2]) * n[1]; over > 0 && format(v) != format(n[2]) || over > math.Abs(n[1]*n[1])/2 {
			break
		}
		if some {
			c.print(sep)
		}
		some = true
		if precision == 0 && d.width < 0 && !o.on("f") && math.Abs(v) < 1e15 {
			c.out.Write(strconv.AppendInt(c.out.AvailableBuffer(), int64(v), 10))
		} else {
			c.print(format(v))
		}
		if int(i)&0xff == 0 && c.stopped() {
			return 1
		}
	}
	if some {
		c.print("\n")
	}
	return 0
}

// seqArgs puts "--" before a negative number, which is an operand.
func seqArgs(args []string) []string {
	for i, a := range args {
		if a == "" || a[0] != '-' {
			break
		}
		if len(a) > 1 && (a[1] >= '0' && a[1] <= '9' || a[1] == '.') {
			return slices.Insert(slices.Clone(args), i, "--")
		}
	}
	return args
}

// seqFormat reads the format of -f.
func seqFormat(f string) (format func(float64) string, problem string) {
	at := strings.IndexByte(strings.ReplaceAll(f, "%%", "\x00\x00"), '%')
	if at < 0 {
		return nil, fmt.Sprintf("format %s has no %% directive", quote(f))
	}
	d, rest, ok := nextDirective(f[at:])
	if !ok || strings.IndexByte("efgEFGaA", d.verb) < 0 {
		return nil, fmt.Sprintf("format %s has unknown %%%c directive", quote(f), d.verb)
	}
	before := strings.ReplaceAll(f[:at], "%%", "%")
	rest = strings.ReplaceAll(rest, "%%", "%")
	return func(v float64) string { return before + d.formatFloat(v) + rest }, ""
}

func yes(c *call) int {
	line := strings.Join(c.args, " ") + "\n"
	if len(c.args) == 0 {
		line = "y\n"
	}
	block := []byte(strings.Repeat(line, max(1, 8192/len(line))))
	for !c.stopped() {
		c.out.Write(block)
	}
	return 0
}
