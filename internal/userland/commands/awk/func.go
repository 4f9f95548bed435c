package awk

import (
	"errors"
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
	run         func(*run, []*node) (value, error)
}

var functions map[string]builtinFunction

func init() {
	number := func(f func(float64) float64) builtinFunction {
		return builtinFunction{1, 1, func(r *run, args []*node) (value, error) {
			v, err := r.eval(args[0])
			return num(f(v.num())), err
		}}
	}
	// As C has it, a result that is no number is negative.
	positive := func(name string, f func(float64) float64) builtinFunction {
		return builtinFunction{1, 1, func(r *run, args []*node) (value, error) {
			v, err := r.eval(args[0])
			n := v.num()
			if n < 0 && err == nil {
				r.c.Errorf("%swarning: %s: received negative argument %s", r.where(), name, formatNumber(n, "%.6g"))
				return num(math.Copysign(math.NaN(), -1)), nil
			}
			return num(f(n)), err
		}}
	}
	bits := func(f func(a, b uint64) uint64) builtinFunction {
		return builtinFunction{2, -1, func(r *run, args []*node) (value, error) {
			v, err := r.eval(args[0])
			n := uint64(v.num())
			for _, a := range args[1:] {
				if err == nil {
					v, err = r.eval(a)
					n = f(n, uint64(v.num()))
				}
			}
			return num(float64(n)), err
		}}
	}
	mapped := func(f func(string) string) builtinFunction {
		return builtinFunction{1, 1, func(r *run, args []*node) (value, error) {
			v, err := r.eval(args[0])
			return str(f(v.str(r.convfmt))), err
		}}
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

// strs evaluates arguments as strings.
func (r *run) strs(args ...*node) (list []string, err error) {
	for _, a := range args {
		v, err := r.eval(a)
		if err != nil {
			return nil, err
		}
		list = append(list, v.str(r.convfmt))
	}
	return list, nil
}

func atan2(r *run, args []*node) (value, error) {
	a, err := r.eval(args[0])
	if err != nil {
		return a, err
	}
	b, err := r.eval(args[1])
	return num(math.Atan2(a.num(), b.num())), err
}

func exp(r *run, args []*node) (value, error) {
	v, err := r.eval(args[0])
	n := math.Exp(v.num())
	if math.IsInf(n, 0) && !math.IsInf(v.num(), 0) && err == nil {
		r.c.Errorf("%swarning: exp: argument %s is out of range", r.where(), formatNumber(v.num(), "%.6g"))
	}
	return num(n), err
}

func rand(r *run, _ []*node) (value, error) { return num(r.random.next()), nil }

func srand(r *run, args []*node) (value, error) {
	seed := float64(time.Now().Unix())
	if len(args) > 0 {
		v, err := r.eval(args[0])
		if err != nil {
			return v, err
		}
		seed = v.num()
	}
	old := r.seed
	r.seed, r.random = seed, random{math.Float64bits(seed)}
	return num(old), nil
}

// array is an argument that has to be an array.
func (r *run) array(n *node) (*array, error) {
	if n.op != "var" && n.op != "index" {
		return nil, errors.New("an array is needed as an argument")
	}
	return r.arrayOf(n)
}

func closeStream(r *run, args []*node) (value, error) {
	s, err := r.strs(args[0])
	if err != nil {
		return value{}, err
	}
	return num(float64(r.streams.close(s[0]))), nil
}

func system(r *run, args []*node) (value, error) {
	s, err := r.strs(args[0])
	if err != nil {
		return value{}, err
	}
	p, err := r.streams.shell(s[0], nil)
	if err != nil {
		return num(float64(command.NotStarted(err))), nil
	}
	status, ok := r.c.Wait(r.c.Ctx, p)
	if !ok {
		return value{}, command.ErrStopped
	}
	return num(float64(status.Code())), nil
}

func flush(r *run, args []*node) (value, error) {
	r.streams.flush()
	return num(0), nil
}

func systime(*run, []*node) (value, error) {
	return num(float64(time.Now().Unix())), nil
}

func strftime(r *run, args []*node) (value, error) {
	format, at, utc := "%a %b %e %H:%M:%S %Z %Y", time.Now(), false
	for i, a := range args {
		v, err := r.eval(a)
		if err != nil {
			return v, err
		}
		switch i {
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
	return str(clock.Format(format, at)), nil
}

func mktime(r *run, args []*node) (value, error) {
	s, err := r.strs(args[0])
	if err != nil {
		return value{}, err
	}
	var n [6]int
	if got, _ := fmt.Sscan(s[0], &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]); got < 6 {
		return num(-1), nil
	}
	return num(float64(time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, r.c.Zone()).Unix())), nil
}

func strtonum(r *run, args []*node) (value, error) {
	v, err := r.eval(args[0])
	if err != nil || v.kind == numeric {
		return v, err
	}
	s := strings.TrimSpace(v.s)
	if len(s) > 1 && s[0] == '0' {
		if n, err := strconv.ParseUint(strings.ToLower(s), 0, 64); err == nil {
			return num(float64(n)), nil
		}
	}
	return num(v.num()), nil
}

func typeof(r *run, args []*node) (value, error) {
	arr, v, err := r.either(args[0])
	switch {
	case arr != nil:
		return str("array"), err
	case v.kind == unset:
		return str("untyped"), err
	case v.kind == numeric:
		return str("number"), err
	case v.kind == input && v.numeric():
		return str("strnum"), err
	}
	return str("string"), err
}

func isArray(r *run, args []*node) (value, error) {
	arr, _, err := r.either(args[0])
	return boolean(arr != nil), err
}
