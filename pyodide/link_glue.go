package pyodide

import (
	"context"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/dylink"
)

// glueCost is what the code of a generated module takes at least, in bytes.
const glueCost = 16 << 10

// instanceCost is about what an instance of such a module takes of the host's
// memory, in bytes.
const instanceCost = 8 << 10

// compileGlue compiles a small module that is generated. Interpreters that do
// the same share it.
func (in *linking) compileGlue(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	r := in.rt
	// What a snapshot brings is not the program's. The rest is given back with
	// the file system.
	if in.fs != nil && !in.fs.Reserve(instanceCost) {
		return nil, errNoMemory
	}
	lib, err := r.link.shared.use("glue "+digest(wasm), &in.used, func() (*dylink.Library, int, error) {
		code, err := r.code.Compile(ctx, r.wz, wasm)
		return &dylink.Library{Code: code}, len(wasm) + glueCost, err
	})
	if err != nil {
		return nil, err
	}
	return lib.Code, nil
}
