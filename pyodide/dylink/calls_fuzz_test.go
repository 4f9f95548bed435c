package dylink

import (
	"testing"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// FuzzCalls makes sequences of what a guest can ask of the linker: dlopen,
// dlsym, slots and calls, with handles and names that are anything. What a
// failed dlopen took it has given back.
func FuzzCalls(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x02\x03\x02\x01\x00\x03\x04\x05\x06"))
	f.Add([]byte{0, 1, 0, 1, 0, 1, 2, 2, 0, 3, 1, 1, 4, 0, 0, 3, 3, 3, 0, 4, 0})
	names := []string{"/lib/a.so", "/lib/b.so", "/lib/bad.so", "/lib/none.so", "", "__main__", "f", "g", "plain", "slotted", "datum", "nothing", "../lib/a.so"}
	f.Fuzz(func(t *testing.T, in []byte) {
		w := newWorld(t)
		a, b := side{memory: 100, table: 3}, side{memory: 10, needed: []string{"/lib/a.so"}}
		a.ImportTable(envModule, tableName, wasmbin.Table{Type: wasmbin.FuncRef})
		a.calls("f", "plain")
		b.calls("g", "f", "host_add")
		w.files["/lib/a.so"], w.files["/lib/b.so"], w.files["/lib/bad.so"] = a.bytes(), b.bytes(), []byte("\x00asm\x01\x00\x00\x00")
		handles := []uint32{0, 1, 0xffffffff, 1<<18 - 40, handleAt}
		for n := 0; len(in) >= 3 && n < 40; n, in = n+1, in[3:] {
			name := names[int(in[1])%len(names)]
			handle := handles[int(in[2])%len(handles)]
			var err error
			switch in[0] % 5 {
			case 0:
				w.c.Mem.PutUint32(handle+dsoFlags, uint32(in[1])<<4)
				w.c.Mem.PutCString(handle+dsoName, 64, name)
				before := w.state()
				if err = w.Dlopen(w.ctx, handle); err != nil && !hostfn.Trapped(err) && before != w.state() {
					t.Fatalf("dlopen(%q): %v; left %s, was %s", name, err, w.state(), before)
				}
			case 1:
				w.c.Mem.PutCString(512, 64, name)
				_, err = w.Dlsym(w.ctx, handle, 512)
			case 2:
				_, err = w.Dlsym(w.ctx, handle, handle)
			case 3:
				var slot uint32
				if slot, err = w.TakeSlot(w.ctx); err == nil && in[1]%2 == 0 {
					err = w.FreeSlot(w.ctx, slot)
				}
			case 4:
				slot := uint32(in[1])
				if ft, ok := w.TypeAt(slot); ok {
					_, err = w.Caller(w.ctx, ft)
				}
			}
			if hostfn.Trapped(err) {
				return
			}
		}
	})
}
