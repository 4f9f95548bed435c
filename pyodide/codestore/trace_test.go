package codestore

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"coderunner/pyodide/wasmbin"
)

// TestPlaces wants the instruction at which each function of a stack is: of two loads with the
// same check, of a division, and of a function that calls itself until the stack is full.
func TestPlaces(t *testing.T) {
	var b wasmbin.Builder
	b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1}))
	i32 := []wasmbin.ValType{wasmbin.I32}
	const get, load, add, div = 0x20, 0x28, 0x6a, 0x6e
	first := b.Func(wasmbin.FuncType{Params: i32, Results: i32}, nil, []byte{
		get, 0, load, 2, 0, // of a[0]
		get, 0, load, 2, 128, 128, 3, add, // of a[12288]
		wasmbin.OpI32Const, 1, get, 0, div, add,
	})
	call := b.Func(wasmbin.FuncType{Params: i32, Results: i32}, nil, []byte{get, 0, wasmbin.OpCall, byte(first)})
	deep := b.Func(wasmbin.FuncType{Params: i32, Results: i32}, nil, []byte{get, 0, wasmbin.OpCall, byte(call + 1), get, 0, add})
	b.Export("f", wasmbin.KindFunc, call)
	b.Export("deep", wasmbin.KindFunc, deep)
	m, err := wasmbin.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	section, _ := m.SectionOf(wasmbin.SecCode)
	at := func(function, offset int) uint32 { return uint32(m.Bodies[function].Code + offset - section.Start) }

	dir, ctx, e := t.TempDir(), context.Background(), newEngine(t)
	if err := Build(ctx, dir, Source{Whole: b.Bytes(), Stub: m.Stub(nil), Of: func(at uint32) (of, call uint32) { return at, 7 }}); err != nil {
		t.Fatal(err)
	}
	s := stubIn(t, dir)
	c, err := e.Load(ctx, s, filepath.Join(dir, CodeFile))
	if err != nil {
		t.Fatal(err)
	}
	cut := &Stub{places: s.places[:len(s.places)-1]}
	if got := cut.placesOf([]frame{{"f", 1}}); got != nil {
		t.Errorf("places that are cut: %v", got)
	}
	for _, test := range []struct {
		export string
		arg    uint64
		want   []uint32
	}{
		{"f", 1 << 16, []uint32{at(0, 2), at(1, 2)}},
		{"f", 1<<16 - 4, []uint32{at(0, 7), at(1, 2)}},
		{"f", 0, []uint32{at(0, 17), at(1, 2)}},
		{"deep", 0, []uint32{at(2, 0), at(2, 2), at(2, 2)}},
	} {
		mod, err := e.Runtime().InstantiateModule(ctx, c, moduleConfig())
		if err != nil {
			t.Fatal(err)
		}
		f := mod.ExportedFunction(test.export)
		if _, err = f.Call(ctx, test.arg); err == nil {
			t.Errorf("%s(%d) does not trap", test.export, test.arg)
		}
		var got []uint32
		for _, p := range s.placesOf(stack(f)) {
			if got = append(got, p.of); p.call != 7 {
				t.Errorf("%s(%d): the call is at %d", test.export, test.arg, p.call)
			}
		}
		if got = got[:min(len(got), len(test.want))]; !slices.Equal(got, test.want) {
			t.Errorf("%s(%d) is at %d, want %d: %v", test.export, test.arg, got, test.want, err)
		}
		mod.Close(ctx)
	}
}
