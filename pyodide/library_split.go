package pyodide

import (
	"context"
	"errors"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/cbor"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/split"
)

// splitInfo is what the stub module of a split library keeps for its loader.
type splitInfo struct {
	Image []byte   // the stub of the whole library: what a linker knows of it
	Parts [][]byte // modules
	Calls [][]uint32
}

// librarySource is what BuildLibrary compiles.
type librarySource struct{ codestore.Source }

// loads reports whether the export of a library is called whenever it is loaded.
func loads(export string) bool {
	return strings.HasPrefix(export, "__wasm_") || strings.HasPrefix(export, "PyInit_")
}

// split makes the source that of the library's primary module, unless it must stay whole.
func (s *librarySource) split() error {
	s.Later = true
	m, err := split.Module(s.Whole, loads)
	if errors.Is(err, split.ErrWhole) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.Info, err = cbor.Marshal(splitInfo{s.Stub, m.Parts, m.Calls}); err != nil {
		return err
	}
	s.Whole = m.Primary
	s.Stub, s.Data, err = dylink.Stub(m.Primary)
	return err
}

// loaderKey is the key of a context's *instance, for instantiateLoader.
type loaderKey struct{}

// instantiateLoader makes the host module that the primary modules of split libraries
// import. What it waits for is a library's compilation: see openLibrary.
func instantiateLoader(ctx context.Context, wz wazero.Runtime) error {
	load := func(ctx context.Context, caller api.Module, stack []uint64) {
		in := ctx.Value(loaderKey{}).(*instance)
		in.deadline.pause()
		err := in.linking.linker.LoadPart(ctx, caller, split.Primary, uint32(stack[0]))
		in.deadline.resume()
		if err != nil {
			in.linking.unwindIfDead(hostfn.Trap{Err: err})
		}
	}
	_, err := wz.NewHostModuleBuilder(split.HostModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(load), []api.ValueType{api.ValueTypeI32}, nil).
		WithName(split.Load).WithParameterNames("part").Export(split.Load).Instantiate(ctx)
	return err
}
