package pyodide_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

type point struct {
	X    int `json:"x"`
	Y    float64
	Tags []string `json:"tags,omitempty"`
	next *point
}

// goFunctions are functions of many types.
var goFunctions = pyodide.Module{
	"number": func(a int, b float64, c uint8) float64 { return float64(a) + b + float64(c) },
	"big":    func(n *big.Int) *big.Int { return n.Mul(n, n) },
	"text":   func(s string, on bool) (string, bool) { return strings.ToUpper(s), !on },
	"data":   func(b []byte) []byte { slices.Reverse(b); return b },
	"list":   func(n []int) []int { slices.Sort(n); return n },
	"array":  func(a [2]string) [2]string { return [2]string{a[1], a[0]} },
	"table":  func(m map[string][]int) []string { return slices.Sorted(maps.Keys(m)) },
	"squares": func(n int) map[int]int {
		m := map[int]int{}
		for i := range n {
			m[i] = i * i
		}
		return m
	},
	"move": func(p point, by *point) point {
		if by != nil {
			p.X += by.X
			p.Y += by.Y
		}
		return p
	},
	"options": func(name string, o struct {
		Limit int
		Deep  bool
	}) string {
		return fmt.Sprint(name, o.Limit, o.Deep)
	},
	"sum": func(n ...int) (s int) {
		for _, i := range n {
			s += i
		}
		return s
	},
	"same": func(v any) any { return v },
	"kind": func(v any) string { return fmt.Sprintf("%T", v) },
	"day":  func(t time.Time) (string, time.Time) { return t.Weekday().String(), t.AddDate(0, 0, 1) },
	"inf":  func() []float64 { return []float64{math.Inf(1), math.NaN(), 1, 1e300} },
	"fail": func() error { return errors.New("no luck") },
	"missing": func(name string) (string, error) {
		return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	},
	"refuse": func() error {
		return fmt.Errorf("look up: %w", &pyodide.Exception{Type: "LookupError", Message: "nobody"})
	},
	"own":     func() error { return &pyodide.Exception{Type: "Sold", Message: "out"} },
	"empty":   func() *point { return &point{} },
	"nothing": func() {},
	"latin":   func() string { return "\xff" },
}

// TestGoFunctions calls functions with values of many types. Each line of the program is
// a comparison that holds.
func TestGoFunctions(t *testing.T) {
	const program = `
import asyncio, collections, dataclasses, array, math
import go

def raises(kind, text, f, *args, **options):
    try:
        f(*args, **options)
    except Exception as e:
        return type(e) is kind and text in str(e) or print(f"{type(e)} {e}, want {kind} {text}")
    print(f"nothing raised, want {kind} {text}")

P = dataclasses.make_dataclass("P", ["x", "Y"])
N = collections.namedtuple("N", "x")
moved = go.move({"x": 1, "Y": 2, "tags": ["a"]}, P(10, 0.5))
infinite, nan, one, large = go.inf()
checks = [line for line in '''
go.number(1, 2, 3) == 6.0 and type(go.number(1, 2.5, 3)) is float
go.number(True + 1, 1e3, 255) == 1257
go.big(10**40) == 10**80 and go.big(-3) == 9
go.text("größe 😀", True) == ("GRÖSSE 😀", False) or go.text("größe 😀", True) == ("GRÖßE 😀", False)
go.data(b"\\0\\xff") == b"\\xff\\0" and go.data(bytearray(b"ab")) == b"ba" and go.data(memoryview(b"")) == b""
go.list([3, 1]) == [1, 3] and go.list((2, 1)) == [1, 2] and go.list([]) == [] and go.list(array.array("i", [2, 1])) == [1, 2]
go.array(["a", "b"]) == ["b", "a"]
go.table({"b": [1], "a": []}) == ["a", "b"]
go.squares(3) == {0: 0, 1: 1, 2: 4}
vars(moved) == {"x": 11, "Y": 2.5, "tags": ["a"]} and moved.x == 11 and moved.tags == ["a"] and "tags" in dir(moved)
vars(go.move(N(1), None)) == {"x": 1, "Y": 0.0, "tags": []} and go.move(moved, moved).x == 22
go.options("a", Limit=3) == "a3 false" and go.options("a") == "a0 false" and go.options("a", {"Deep": True}) == "a0 true"
go.sum() == 0 and go.sum(1, 2, 3) == 6
go.same(None) is None and go.same(True) is True and go.same(2**70) == 2**70 and go.same(-2**63) == -2**63
go.same([1, 1.0, "a", b"b", {1: 2}, {"a": [None]}]) == [1, 1.0, "a", b"b", {1: 2}, {"a": [None]}]
type(go.same(1.0)) is float and type(go.same(1)) is int and go.same({}) == {} and go.same({(1, 2): 3} and {1.5: 2}) == {1.5: 2}
[go.kind(v) for v in (1, 2**64, 1.0, "a", b"a", [], {}, {1: 1})] == ["int64", "*big.Int", "float64", "string", "[]uint8", "[]interface {}", "map[string]interface {}", "map[interface {}]interface {}"]
go.day("2026-11-28T01:02:03Z") == ("Saturday", "2026-11-29T01:02:03Z")
infinite == math.inf and math.isnan(nan) and one == 1 and large == 1e300 and math.isnan(go.same(math.nan))
go.nothing() is None and go.empty() == go.move({}, None)
go.number.__doc__ == "go.number(int, float64, uint8) float64" and go.number.__name__ == "number" and go.number.__module__ == "go"
raises(RuntimeError, "no luck", go.fail)
raises(FileNotFoundError, "open a.txt: file does not exist", go.missing, "a.txt")
raises(LookupError, "nobody", go.refuse)
raises(RuntimeError, "Sold: out", go.own)
raises(RuntimeError, "a string that is not UTF-8", go.latin)
raises(TypeError, "argument 1 of go.number: a str, want int", go.number, "1", 2, 3)
raises(TypeError, "argument 1 of go.number: a float, want int", go.number, 1.0, 2, 3)
raises(TypeError, "argument 1 of go.data: a str, want []uint8", go.data, "text")
raises(TypeError, "argument 1 of go.text: bytes, want string", go.text, b"text", True)
raises(TypeError, "None, want int", go.number, None, 2, 3)
raises(TypeError, "go.number takes 3 arguments, not 1: go.number(int, float64, uint8) float64", go.number, 1)
raises(TypeError, "go.number takes no keyword arguments", go.number, 1, 2, c=3)
raises(TypeError, "has no field Lim", go.options, "a", Lim=1)
raises(TypeError, "element 1: a str, want int", go.list, [1, "2"])
raises(TypeError, "Y: a list, want float64", go.move, {"Y": []}, None)
raises(OverflowError, "does not fit uint8", go.number, 1, 2, 256)
raises(OverflowError, "does not fit int", go.number, 2**63, 2, 3)
raises(ValueError, "1 elements, want 2", go.array, ["a"])
raises(ValueError, "parsing time", go.day, "today")
raises(TypeError, "a key that Go cannot compare", go.same, {(1, 2): 3})
raises(TypeError, "Go has nothing for a value of type object", go.same, object())
raises(RuntimeError, "too long", go.data, bytes(5 << 20))
go.data(bytes(2 << 20)) == bytes(2 << 20)
'''.splitlines() if line]
for line in checks:
    if not eval(line):
        print("does not hold:", line)
len(checks) > 40
`
	res, out, errs := run(t, pyodide.Options{Modules: map[string]pyodide.Module{"go": goFunctions}}, pyodide.Program{Code: program})
	if res.Exception != nil || out != "" || errs != "" || res.Value == nil || res.Value.Repr != "True" {
		t.Errorf("%+v %+v\n%s%s", res, res.Exception, out, errs)
	}
}

// TestGoFunctionsAwaited awaits calls that wait for each other, cancels one, and ends a run
// in the middle of others: their contexts end.
func TestGoFunctionsAwaited(t *testing.T) {
	var met, ended atomic.Int32
	all := make(chan struct{})
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		ended.Add(1)
		return ctx.Err()
	}
	module := pyodide.Module{
		"meet": pyodide.Async(func(ctx context.Context, n int32) (int32, error) {
			mine := met.Add(1)
			if mine == n {
				close(all)
			}
			select {
			case <-all:
				return mine, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}),
		"wait":  pyodide.Async(wait),
		"block": wait,
		"fail":  pyodide.Async(func() error { return fs.ErrPermission }),
	}
	rt := pyodidetest.Runtime(t)
	run := func(timeout time.Duration, code string) *pyodide.Result {
		t.Helper()
		in, err := rt.New(t.Context(), pyodide.Options{Modules: map[string]pyodide.Module{"go": module}})
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		res, err := in.Run(t.Context(), pyodide.Program{Code: code, Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := run(time.Minute, `
import asyncio, go
found = await asyncio.gather(*(go.meet(20) for _ in range(20)))
try:
    async with asyncio.timeout(0.01):
        await go.wait()
except TimeoutError:
    found.append("cancelled")
try:
    await go.fail()
except PermissionError as e:
    found.append(str(e))
many = [asyncio.ensure_future(go.wait()) for _ in range(100)]
await asyncio.sleep(0)
for task in many:
    task.cancel()
gone = await asyncio.gather(*many, return_exceptions=True)
sorted(found[:20]) == [*range(1, 21)], found[20:], {type(e).__name__ for e in gone}`)
	if res.Value == nil || res.Value.Repr != `(True, ['cancelled', 'permission denied'], {'CancelledError'})` || res.ThreadsEnded != 0 {
		t.Errorf("%+v %+v", res, res.Exception)
	}
	for _, code := range []string{"import go\ngo.block()", "import go\nawait go.wait()"} {
		before := ended.Load()
		if res := run(300*time.Millisecond, code); res.Ended != pyodide.Interrupted && res.Ended != pyodide.Stopped || ended.Load() != before+1 {
			t.Errorf("%q: %+v, %d calls ended", code, res, ended.Load()-before)
		}
	}
}

// TestGoFunctionsRefused makes interpreters with what Python cannot call.
func TestGoFunctionsRefused(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	for want, m := range map[string]map[string]pyodide.Module{
		`go.f is no function, but int`:                                          {"go": {"f": 1}},
		`parameter 1 of go.f: Python has no values of type chan int`:            {"go": {"f": func(context.Context, chan int) {}}},
		`result 1 of go.f: field F: Python has no values of type func()`:        {"go": {"f": func() struct{ F func() } { panic("called") }}},
		`the module "a.b" cannot have a function "f": these are no identifiers`: {"a.b": {"f": func() {}}},
		`the module "go" cannot have a function "a b"`:                          {"go": {"a b": func() {}}},
	} {
		in, err := rt.New(t.Context(), pyodide.Options{Modules: m})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err == nil {
			in.Close()
		}
	}
}

// TestGoFunctionPanics wants a panic to end the interpreter and nothing else.
func TestGoFunctionPanics(t *testing.T) {
	m := pyodide.Module{"f": func(list []int) int { return list[1] }}
	res, _, _ := run(t, pyodide.Options{Modules: map[string]pyodide.Module{"go": m}}, pyodide.Program{Code: "import go\ngo.f([])"})
	if res.Ended != pyodide.Died || !strings.Contains(fmt.Sprint(res.Cause), "index out of range") {
		t.Errorf("%+v", res)
	}
}
