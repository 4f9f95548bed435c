package dylink

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"coderunner/pyodide/wasmbin"
)

// TestStubLibraries wants the linker to see no difference.
func TestStubLibraries(t *testing.T) {
	for _, name := range []string{"simplejson.wasm", "jiter.wasm", "awkward.wasm"} {
		b, err := Rename(head(t, name), func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		want, err := NewImage(b)
		if err != nil {
			t.Fatal(err)
		}
		h, data, err := Stub(b)
		if err != nil || data == nil {
			t.Fatalf("%s: %v, %v", name, data, err)
		}
		got, err := NewImage(h)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(Image{}, funcImport{}, globalImport{}, gotImport{}, definition{}), cmpopts.IgnoreFields(Image{}, "LargestBody")); d != "" {
			t.Errorf("%s (-whole +stub):\n%s", name, d)
		}
	}
}

// TestDetached is about the places that data may have.
func TestDetached(t *testing.T) {
	base, other := []byte{wasmbin.OpGlobalGet, 0}, []byte{wasmbin.OpGlobalGet, 1}
	plus := func(n int32) []byte { return append(wasmbin.AppendI32Const(nil, n), wasmbin.OpI32Add) }
	join := func(parts ...[]byte) (x wasmbin.Expr) {
		for _, p := range parts {
			x = append(x, p...)
		}
		return append(x, wasmbin.OpEnd)
	}
	for name, c := range map[string]struct {
		offset wasmbin.Expr
		addr   uint32
		ok     bool
	}{
		"base":             {join(base), 0, true},
		"base + 8":         {join(base, plus(8)), 8, true},
		"8 + base":         {join(wasmbin.AppendI32Const(nil, 8), base, []byte{wasmbin.OpI32Add}), 8, true},
		"8":                {join(wasmbin.AppendI32Const(nil, 8)), 0, false},
		"another variable": {join(other), 0, false},
		"base + base":      {join(base, base, []byte{wasmbin.OpI32Add}), 0, false},
		"base * 2":         {join(base, wasmbin.AppendI32Const(nil, 2), []byte{wasmbin.OpI32Mul}), 0, false},
		"behind the end":   {join(base, plus(13)), 0, false},
		"before the base":  {join(base, plus(-1)), 0, false},
	} {
		m := &wasmbin.Module{
			Imports: []wasmbin.Import{{Module: "env", Name: "__memory_base", Kind: wasmbin.KindGlobal},
				{Module: "env", Name: "other", Kind: wasmbin.KindGlobal, Index: 1}},
			Data:   []wasmbin.Data{{Mode: wasmbin.Passive, Bytes: []byte("p")}, {Offset: c.offset, Bytes: []byte("1234")}},
			Dylink: &wasmbin.Dylink{MemorySize: 16},
		}
		var want []wasmbin.Segment
		if c.ok {
			want = []wasmbin.Segment{{Addr: c.addr, Bytes: []byte("1234")}}
		}
		if d := cmp.Diff(want, detached(m)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
