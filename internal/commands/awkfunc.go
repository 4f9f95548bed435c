package commands

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/calendar"
)

// awkBuiltinFunction is a function of awk itself.
type awkBuiltinFunction struct {
	least, most int // arguments; most -1: any number
	run         func(*awkRun, []*awkNode) (awkValue, error)
}

var awkFunctions map[string]awkBuiltinFunction

func init() {
	number := func(f func(float64) float64) awkBuiltinFunction {
		return awkBuiltinFunction{1, 1, func(r *awkRun, args []*awkNode) (awkValue, error) {
			v, err := r.eval(args[0])
			return awkNum(f(v.num())), err
		}}
	}
	bits := func(f func(a, b uint64) uint64) awkBuiltinFunction {
		return awkBuiltinFunction{2, -1, func(r *awkRun, args []*awkNode) (awkValue, error) {
			v, err := r.eval(args[0])
			n := uint64(v.num())
			for _, a := range args[1:] {
				if err == nil {
					v, err = r.eval(a)
					n = f(n, uint64(v.num()))
				}
			}
			return awkNum(float64(n)), err
		}}
	}
	mapped := func(f func(string) string) awkBuiltinFunction {
		return awkBuiltinFunction{1, 1, func(r *awkRun, args []*awkNode) (awkValue, error) {
			v, err := r.eval(args[0])
			return awkStr(f(v.str(r.convfmt))), err
		}}
	}
	awkFunctions = map[string]awkBuiltinFunction{
		"sin": number(math.Sin), "cos": number(math.Cos), "exp": number(math.Exp), "log": number(math.Log),
		"sqrt": number(math.Sqrt), "int": number(math.Trunc),
		"compl": number(func(f float64) float64 { return float64(^uint64(f) & (1<<53 - 1)) }),
		"and":   bits(func(a, b uint64) uint64 { return a & b }), "or": bits(func(a, b uint64) uint64 { return a | b }),
		"xor":    bits(func(a, b uint64) uint64 { return a ^ b }),
		"lshift": bits(func(a, b uint64) uint64 { return a << b }), "rshift": bits(func(a, b uint64) uint64 { return a >> b }),
		"tolower": mapped(strings.ToLower), "toupper": mapped(strings.ToUpper),
		"atan2": {2, 2, awkAtan2}, "rand": {0, 0, awkRand}, "srand": {0, 1, awkSrand},
		"length": {0, 1, awkLength}, "substr": {2, 3, awkSubstr}, "index": {2, 2, awkIndex},
		"split": {2, 4, awkSplit}, "match": {2, 3, awkMatch}, "sub": {2, 3, awkSub}, "gsub": {2, 3, awkGsub},
		"gensub": {3, 4, awkGensub}, "sprintf": {1, -1, awkSprintfCall}, "close": {1, 2, awkClose},
		"system": {1, 1, awkSystem}, "fflush": {0, 1, awkFlush}, "systime": {0, 0, awkSystime},
		"strftime": {0, 3, awkStrftime}, "mktime": {1, 2, awkMktime}, "asort": {1, 3, awkAsort},
		"asorti": {1, 3, awkAsorti}, "strtonum": {1, 1, awkStrtonum}, "typeof": {1, 1, awkTypeof}, "isarray": {1, 1, awkIsArray},
	}
}

// awkRandom is the generator of rand.
type awkRandom struct{ state uint64 }

func (a *awkRandom) next() float64 {
	a.state += 0x9e3779b97f4a7c15
	z := a.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

// strs evaluates arguments as strings.
func (r *awkRun) strs(args ...*awkNode) (list []string, err error) {
	for _, a := range args {
		v, err := r.eval(a)
		if err != nil {
			return nil, err
		}
		list = append(list, v.str(r.convfmt))
	}
	return list, nil
}

func awkAtan2(r *awkRun, args []*awkNode) (awkValue, error) {
	a, err := r.eval(args[0])
	if err != nil {
		return a, err
	}
	b, err := r.eval(args[1])
	return awkNum(math.Atan2(a.num(), b.num())), err
}

func awkRand(r *awkRun, _ []*awkNode) (awkValue, error) { return awkNum(r.random.next()), nil }

func awkSrand(r *awkRun, args []*awkNode) (awkValue, error) {
	old, seed := r.seed, float64(time.Now().Unix())
	if len(args) > 0 {
		v, err := r.eval(args[0])
		if err != nil {
			return v, err
		}
		seed = v.num()
	}
	r.seed, r.random = seed, awkRandom{math.Float64bits(seed)}
	return awkNum(old), nil
}

// array is an argument that has to be an array.
func (r *awkRun) array(n *awkNode) (*awkArray, error) {
	if n.op != "var" {
		return nil, errors.New("an array is needed as an argument")
	}
	return r.cell(n).arr(), nil
}

func awkClose(r *awkRun, args []*awkNode) (awkValue, error) {
	s, err := r.strs(args[0])
	if err != nil {
		return awkValue{}, err
	}
	return awkNum(float64(r.closeStream(s[0]))), nil
}

func awkSystem(r *awkRun, args []*awkNode) (awkValue, error) {
	s, err := r.strs(args[0])
	if err != nil {
		return awkValue{}, err
	}
	p, err := r.shell(s[0], nil)
	if err != nil {
		return awkNum(float64(notStarted(err))), nil
	}
	status, ok := r.c.wait(r.c.ctx, p)
	if !ok {
		return awkValue{}, errStopped
	}
	return awkNum(float64(status.Code())), nil
}

func awkFlush(r *awkRun, args []*awkNode) (awkValue, error) {
	r.flush()
	return awkNum(0), nil
}

func awkSystime(*awkRun, []*awkNode) (awkValue, error) {
	return awkNum(float64(time.Now().Unix())), nil
}

func awkStrftime(r *awkRun, args []*awkNode) (awkValue, error) {
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
	if at = at.In(r.c.zone()); utc {
		at = at.UTC()
	}
	return awkStr(calendar.Format(format, at)), nil
}

func awkMktime(r *awkRun, args []*awkNode) (awkValue, error) {
	s, err := r.strs(args[0])
	if err != nil {
		return awkValue{}, err
	}
	var n [6]int
	if got, _ := fmt.Sscan(s[0], &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]); got < 6 {
		return awkNum(-1), nil
	}
	return awkNum(float64(time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, r.c.zone()).Unix())), nil
}

func awkAsort(r *awkRun, args []*awkNode) (awkValue, error)  { return r.asort(args, false) }
func awkAsorti(r *awkRun, args []*awkNode) (awkValue, error) { return r.asort(args, true) }

func (r *awkRun) asort(args []*awkNode, index bool) (awkValue, error) {
	from, err := r.array(args[0])
	if err != nil {
		return awkValue{}, err
	}
	to := from
	if len(args) > 1 {
		if to, err = r.array(args[1]); err != nil {
			return awkValue{}, err
		}
	}
	var values []awkValue
	for _, k := range from.list() {
		if index {
			values = append(values, awkStr(k))
		} else {
			values = append(values, from.m[k].v)
		}
	}
	slices.SortStableFunc(values, func(a, b awkValue) int {
		if x, y := a.numeric(), b.numeric(); x && y {
			return compareFloat(a.num(), b.num())
		} else if x != y { // numbers first
			if x {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.str(r.convfmt), b.str(r.convfmt))
	})
	to.clear()
	for i, v := range values {
		to.set(strconv.Itoa(i+1), v)
	}
	return awkNum(float64(len(values))), nil
}

func awkStrtonum(r *awkRun, args []*awkNode) (awkValue, error) {
	v, err := r.eval(args[0])
	if err != nil || v.kind == awkNumeric {
		return v, err
	}
	s := strings.TrimSpace(v.s)
	if len(s) > 1 && s[0] == '0' {
		if n, err := strconv.ParseUint(strings.ToLower(s), 0, 64); err == nil {
			return awkNum(float64(n)), nil
		}
	}
	return awkNum(v.num()), nil
}

func awkTypeof(r *awkRun, args []*awkNode) (awkValue, error) {
	if args[0].op == "var" && r.cell(args[0]).array != nil {
		return awkStr("array"), nil
	}
	v, err := r.eval(args[0])
	switch {
	case v.kind == awkUnset:
		return awkStr("untyped"), err
	case v.kind == awkNumeric:
		return awkStr("number"), err
	case v.kind == awkInput && v.numeric():
		return awkStr("strnum"), err
	}
	return awkStr("string"), err
}

func awkIsArray(r *awkRun, args []*awkNode) (awkValue, error) {
	return awkBool(args[0].op == "var" && r.cell(args[0]).array != nil), nil
}
