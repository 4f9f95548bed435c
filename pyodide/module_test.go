package pyodide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/wasmbin"
)

// TestMainInfo keeps a module's description but for its data, and refuses one that is cut.
func TestMainInfo(t *testing.T) {
	info := rewrite.Info{
		Symbols: map[string]uint32{"_PyRuntime": 1 << 20},
		Functions: rewrite.Functions{Slots: map[string]uint32{"main": 1}, SlotTypes: []uint32{rewrite.NoType, 0},
			Types: []wasmbin.FuncType{{Params: []wasmbin.ValType{wasmbin.I32, wasmbin.F64}}}},
		Data:    []rewrite.Segment{{Addr: 1, Bytes: []byte("data")}},
		Threads: rewrite.ThreadState{Main: 8, Base: "base"},
		Globals: []string{"__stack_pointer"},
		Tables:  []rewrite.Table{{Type: wasmbin.FuncRef, Min: 2, Export: "table"}},
	}
	b, err := encodeInfo(info)
	if err != nil {
		t.Fatal(err)
	}
	var m module
	if err := m.decodeInfo(b); err != nil {
		t.Fatal(err)
	}
	f, err := m.functions()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&info.Functions, f); d != "" {
		t.Errorf("functions (-want +got):\n%s", d)
	}
	info.Functions, info.Data = rewrite.Functions{}, nil
	if d := cmp.Diff(&info, m.info, cmpopts.IgnoreUnexported(info)); d != "" {
		t.Errorf("info (-want +got):\n%s", d)
	}
	for n := range b {
		if err := new(module).decodeInfo(b[:n]); err == nil {
			t.Errorf("%d bytes of %d are decoded", n, len(b))
		}
	}
}
