package awk

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/clock"
	"coderunner/internal/userland/commands/command"
)

// builtinFunction is a function of awk itself.
type builtinFunction struct {
	least, most int // arguments; most -1: any number
	run         func(*run, []*node) value
}

var functions map[string]builtinFunction

func init() {
	number := func(f func(float64) float64) builtinFunction {
		return builtinFunction{1, 1, func(r *run, args []*node) value { return num(f(r.eval(args[0]).num())) }}
	}
	// As C has it, a result that is no number is negative.
	positive := func(name string, f func(float64) float64) builtinFunction {
		return builtinFunction{1, 1, func(r *run, args []*node) value {
			n := r.eval(args[0]).num()
			if n < 0 {
				r.c.Errorf("%swarning: %s: received negative argument %s", r.where(), name, formatNumber(n, "%.6g"))
				return num(math.Copysign(math.NaN(), -1))
			}
			return num(f(n))
		}}
	}
	bits := func(f func(a, b uint64) uint64) builtinFunction {
		return builtinFunction{2, -1, func(r *run, args []*node) value {
			n := uint64(r.eval(args[0]).num())
			for _, a := range args[1:] {
				n = f(n, uint64(r.eval(a).num()))
			}
			return num(float64(n))
		}}
	}
	mapped := func(f func(string) string) builtinFunction {
		return builtinFunction{1, 1, func(r *run, args []*node) value { return str(f(r.eval(args[0]).str(r.convfmt))) }}
	}
	functions = map[string]builtinFunction{
		"sin": number(math.Sin), "cos": number(math.Cos), "exp": {1, 1, exp}, "log": positive("log", math.Log),
		"sqrt": positive("sqrt", math.Sqrt), "int": number(math.Trunc),
		"compl": number(func(f float64) float64 { return float64(^uint64(f) & (1<<53 - 1)) }),
		"and":   bits(func(a, b uint64) uint64 { return a & b }), "or": bits(func(a, b uint64) uint64 { return a | b }),
		"xor":    bits(func(a, b uint64) uint64 { return a ^ b }),
		"lshift": bits(func(a, b uint64) uint64 { return a << b }), "rshift": bits(func(a, b uint64) uint64 { return a >> b }),
		"tolower": mapped(strings.ToLower), "toupper": mapped(strings.ToUpper),
		"atan2": {2, 2, atan2}, "rand": {0, 0, rand}, "srand": {0, 1, srand},
		"length": {0, 1, length}, "substr": {2, 3, substr}, "index": {2, 2, index},
		"split": {2, 4, split}, "match": {2, 3, match}, "sub": {2, 3, sub}, "gsub": {2, 3, gsub},
		"gensub": {3, 4, gensub}, "sprintf": {1, -1, sprintfCall}, "close": {1, 2, closeStream},
		"system": {1, 1, system}, "fflush": {0, 1, flush}, "systime": {0, 0, systime},
		"strftime": {0, 3, strftime}, "mktime": {1, 2, mktime}, "asort": {1, 3, asort},
		"asorti": {1, 3, asorti}, "strtonum": {1, 1, strtonum}, "typeof": {1, 1, typeof}, "isarray": {1, 1, isArray},
	}
}

// random is the generator of rand.
type random struct{ state uint64 }

func (a *random) next() float64 {
	a.state += 0x9e3779b97f4a7c15
	z := a.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

func atan2(r *run, args []*node) value {
	a := r.eval(args[0]).num()
	return num(math.Atan2(a, r.eval(args[1]).num()))
}

func exp(r *run, args []*node) value {
	n := r.eval(args[0]).num()
	e := math.Exp(n)
	if math.IsInf(e, 0) && !math.IsInf(n, 0) {
		r.c.Errorf("%swarning: exp: argument %s is out of range", r.where(), formatNumber(n, "%.6g"))
	}
	return num(e)
}

func rand(r *run, _ []*node) value { return num(r.random.next()) }

func srand(r *run, args []*node) value {
	seed := float64(time.Now().Unix())
	if len(args) > 0 {
		seed = r.eval(args[0]).num()
	}
	old := r.seed // the argument may have been another srand
	r.seed, r.random = seed, random{math.Float64bits(seed)}
	return num(old)
}

// array is an argument that has to be an array.
func (r *run) array(n *node) *array {
	if n.op != "var" && n.op != "index" {
		r.c.Throw("an array is needed as an argument")
	}
	return r.arrayOf(n)
}

func closeStream(r *run, args []*node) value {
	return num(float64(r.streams.close(r.eval(args[0]).str(r.convfmt))))
}

func system(r *run, args []*node) value {
	p, err := r.streams.shell(r.eval(args[0]).str(r.convfmt), nil)
	if err != nil {
		return num(float64(command.NotStarted(err)))
	}
	status, ok := r.c.Wait(r.c.Ctx, p)
	if !ok {
		r.c.Check(command.ErrStopped)
	}
	return num(float64(status.Code()))
}

func flush(r *run, _ []*node) value {
	r.streams.flush()
	return num(0)
}

func systime(*run, []*node) value { return num(float64(time.Now().Unix())) }

func strftime(r *run, args []*node) value {
	format, at, utc := "%a %b %e %H:%M:%S %Z %Y", time.Now(), false
	for i, a := range args {
		switch v := r.eval(a); i {
		case 0:
			format = v.str(r.convfmt)
		case 1:
			at = time.Unix(int64(v.num()), 0)
		default:
			utc = v.truth()
		}
	}
	if at = at.In(r.c.Zone()); utc {
		at = at.UTC()
	}
	return str(clock.Format(format, at))
}

func mktime(r *run, args []*node) value {
	var n [6]int
	if got, _ := fmt.Sscan(r.eval(args[0]).str(r.convfmt), &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]); got < 6 {
		return num(-1)
	}
	return num(float64(time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, r.c.Zone()).Unix()))
}

func strtonum(r *run, args []*node) value {
	v := r.eval(args[0])
	if s := strings.TrimSpace(v.s); v.kind != numeric && len(s) > 1 && s[0] == '0' {
		if n, err := strconv.ParseUint(strings.ToLower(s), 0, 64); err == nil {
			return num(float64(n))
		}
	}
	return num(v.num())
}

func typeof(r *run, args []*node) value {
	arr, v := r.either(args[0])
	switch {
	case arr != nil:
		return str("array")
	case v.kind == unset:
		return str("untyped")
	case v.kind == numeric:
		return str("number")
	case v.kind == input && v.numeric():
		return str("strnum")
	}
	return str("string")
}

func isArray(r *run, args []*node) value {
	arr, _ := r.either(args[0])
	return boolean(arr != nil)
}
