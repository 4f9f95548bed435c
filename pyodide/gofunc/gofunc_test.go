package gofunc

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"slices"
	"testing"
	"time"
)

type (
	octet byte
	pair  struct {
		A int
		B *pair
	}
	everything struct {
		pair
		I  int8
		U  uint16
		F  float32
		S  string
		D  []octet
		H  [3]octet
		L  [2][]int
		M  map[any][]string
		N  *big.Int
		T  time.Time
		P  *netip.Addr
		On *bool
		V  any
		X  int `json:"x,omitempty"`
		No int `json:"-"`
	}
)

// TestSame wants what a function returns to be what it is given.
func TestSame(t *testing.T) {
	f, err := New("same", func(v everything) everything { return v })
	if err != nil {
		t.Fatal(err)
	}
	const text = `[["A",1],["B",null],["I",-128],["U",65535],["F",0.5],["S","ß"],["D",{"b":"AQI="}],["H",{"b":"AQID"}],` +
		`["L",[[1],[]]],["M",{"m":[[1,[]],["a",["b"]]]}],["N",100000000000000000000],["T","2026-11-28T00:00:00Z"],["P","::1"],["On",true],["V",{"f":"nan"}],["x",7]]`
	a := f.Call(t.Context(), json.RawMessage(`[{"m":`+text+`}]`), nil)
	if a.Exception != nil || string(a.Value) != `{"s":`+text+`}` {
		t.Errorf("%v\n%s", a.Exception, a.Value)
	}
}

// TestCircle wants a value without an end to be an error.
func TestCircle(t *testing.T) {
	f, err := New("circle", func() *pair { p := &pair{}; p.B = p; return p })
	if err != nil {
		t.Fatal(err)
	}
	if a := f.Call(t.Context(), nil, nil); a.Exception == nil || a.Exception[0] != "RecursionError" {
		t.Errorf("%+v", a)
	}
}

// FuzzCall calls functions with any text: there is a value or an exception of Python's.
func FuzzCall(f *testing.F) {
	for _, s := range []string{`[]`, `[1,"a"]`, `[{"m":[["A",1]]}]`, `[{"b":"AQI="}]`, `[{"f":"inf"}]`, `[{"m":[[[1],2]]}]`, `[{"m":[1]}]`, `{}`, `null`, `[1e999]`, `[{"m":[["A"]]},`, `[{}]`, `[{"b":1}]`} {
		f.Add(s, `{"m":[["V",1]]}`)
		f.Add(s, ``)
	}
	same, err := New("same", func(v everything) everything { return v })
	if err != nil {
		f.Fatal(err)
	}
	many, err := New("many", func(v any, n ...int8) (any, int) { return v, len(n) })
	if err != nil {
		f.Fatal(err)
	}
	classes := []string{"TypeError", "RecursionError", "OverflowError", "ValueError"}
	f.Fuzz(func(t *testing.T, args, options string) {
		for _, function := range []*Function{same, many} {
			a := function.Call(t.Context(), json.RawMessage(args), json.RawMessage(options))
			if a.Exception != nil && !slices.Contains(classes, a.Exception[0]) || a.Exception == nil && !json.Valid(a.Value) {
				t.Errorf("%s(%s, %s): %+v", function, args, options, a)
			}
		}
	})
}
