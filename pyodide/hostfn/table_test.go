package hostfn

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
)

func nop(context.Context, []uint64) {}

func TestCheck(t *testing.T) {
	good := Row{Module: "env", Name: "f", Sig: "ij:i", Args: "a b", Source: "x.js", Support: Full, Fn: nop}
	for want, change := range map[string]func(*Row){
		"":                   func(*Row) {},
		"no name":            func(r *Row) { r.Name = "" },
		"names 1 parameters": func(r *Row) { r.Args = "a" },
		"does nothing":       func(r *Row) { r.Fn = nil },
		"no source":          func(r *Row) { r.Source = "" },
		"has no note":        func(r *Row) { r.Support = Partial },
		"has no colon":       func(r *Row) { r.Sig = "ii" },
		`unknown type 'x'`:   func(r *Row) { r.Sig = "ix:" },
		"env.f: signature ":  func(r *Row) { r.Sig = "" },
	} {
		r := good
		change(&r)
		err := Table{r}.Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v, want %q", err, want)
		}
	}
	if err := (Table{good, good}).Check(); err == nil {
		t.Error("the same row twice is fine")
	}
}

// TestInstantiate calls a host function through wazero, by way of a module
// that imports it, and sees clean values on both sides.
func TestInstantiate(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	var seen []uint64
	table := Table{{
		Module: "env", Name: "f", Sig: "ije:i", Args: "a b c", Source: "x.js", Support: Full,
		Fn: func(_ context.Context, stack []uint64) {
			seen = append(seen, stack...)
			stack[0] = 0xdeadbeef_00000007
		},
	}}
	if err := table.Instantiate(ctx, r); err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(ctx, []byte("\x00asm\x01\x00\x00\x00"+
		"\x01\x08\x01\x60\x03\x7f\x7e\x6f\x01\x7f"+ // type (i32 i64 externref) -> i32
		"\x02\x09\x01\x03env\x01f\x00\x00"+
		"\x07\x05\x01\x01g\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	fn := m.ExportedFunction("g")
	if got := fn.Definition().DebugName(); got != "env.f" {
		t.Errorf("wazero shows it as %s", got)
	}
	res, err := fn.Call(ctx, 0xffffffff_00000005, 0xffffffff_00000006, 0xffffffff_00000001)
	if err != nil || res[0] != 7 {
		t.Errorf("result %#x, %v", res, err)
	}
	if d := cmp.Diff([]uint64{5, 0xffffffff_00000006, 0xffffffff_00000001}, seen); d != "" {
		t.Error(d)
	}
	if err := table.Instantiate(ctx, r); err == nil {
		t.Error("instantiating twice is fine")
	}
}
