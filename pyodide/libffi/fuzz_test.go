package libffi

import (
	"testing"

	"github.com/tetratelabs/wazero/experimental/wazerotest"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// FuzzSignature reads a signature, and generates its closure, wherever its
// structures are in arbitrary memory.
func FuzzSignature(f *testing.F) {
	// A cif of one argument of type int, with all types at 28.
	f.Add(words(0, 1, 32, 28, 0, 0, 1, 4, 36, 4|typeSint32<<16, 0), uint32(0))
	f.Add(words(0, 2, 40, 28, 0, 0, 1, 4, 4|typeStruct<<16, 44, 28, 28, 28, 28), uint32(0))
	f.Add(words(0, 255, 0, 0, 0, 0, 255), uint32(0))
	f.Fuzz(func(t *testing.T, b []byte, cif uint32) {
		mem := wazerotest.NewFixedMemory(wazerotest.PageSize)
		mem.Write(0, b)
		s, err := readSignature(hostfn.NewMem(mem), cif)
		if err != nil {
			return
		}
		if len(s.args) > maxArgs || len(s.wasm.Params) > 2*maxArgs+2 {
			t.Errorf("%d arguments, %d parameters", len(s.args), len(s.wasm.Params))
		}
		if _, err := wasmbin.Parse(closureModule(s)); err != nil {
			t.Errorf("the closure's module: %v", err)
		}
		a := arguments{mem: hostfn.NewMem(mem), sp: 4096}
		if a.fill(s, cif, cif) == nil {
			if _, err := a.adapt(s.wasm, s.wasm); err != nil {
				t.Error(err)
			}
		}
	})
}
