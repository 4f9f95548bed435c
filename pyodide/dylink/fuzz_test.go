package dylink

import (
	"testing"

	"coderunner/pyodide/wasmbin"
)

// FuzzImage wants any bytes to be read or refused.
func FuzzImage(f *testing.F) {
	lib := side{memory: 100, memoryAlign: 4, table: 3, needed: []string{"a.so"}, runtimePath: []string{"$ORIGIN"}, weak: []string{"w"}}
	lib.ImportTable(envModule, tableName, wasmbin.Table{Type: wasmbin.FuncRef})
	lib.calls("f", "w", "plain")
	lib.Elements(0, 0, []uint32{lib.adds("g", 1)})
	f.Add(lib.bytes())
	f.Add(mainModule())
	lib = side{}
	lib.reads("a", "b")
	f.Add(lib.bytes())
	for _, name := range []string{"simplejson.wasm", "jiter.wasm", "awkward.wasm"} {
		f.Add(head(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		renamed, err := Rename(b, func(name string) bool { return name == "plain" })
		if err != nil {
			return
		}
		i, err := NewImage(renamed)
		if err != nil {
			return
		}
		if i.memorySize > maxMemory || i.tableSize > maxSlots || i.memoryAlign == 0 || i.tableAlign == 0 {
			t.Errorf("sizes beyond their bounds: %+v", i)
		}
		for _, s := range i.slots {
			if s >= i.tableSize {
				t.Errorf("slot %d of %d", s, i.tableSize)
			}
		}
	})
}
