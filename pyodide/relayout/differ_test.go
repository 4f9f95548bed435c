//go:build amd64

package relayout_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/codestore"
	"coderunner/pyodide/relayout"
	"coderunner/pyodide/wasmbin"
)

// differ calls functions of modules in wazero's machine code and in the same laid
// out anew.
type differ struct {
	t      *testing.T
	plain  wazero.Runtime
	loader *codestore.Loader

	modules, calls, traps int
	stats                 codestore.Layout
}

func newDiffer(t *testing.T) *differ {
	t.Helper()
	ctx := context.Background()
	l, err := codestore.NewLoader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d := &differ{t: t, loader: l, plain: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(
		api.CoreFeaturesV2|experimental.CoreFeaturesTailCall|experimental.CoreFeaturesExtendedConst))}
	t.Cleanup(func() {
		if err := d.plain.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return d
}

// compile returns both codes of a module, or false if wazero refuses it or has
// nothing to compile. It must be laid out, every function of it.
func (d *differ) compile(name string, wasm []byte) (codes [2]wazero.CompiledModule, ok bool) {
	ctx := context.Background()
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return codes, false
	}
	wasm = unnamed(m)
	if codes[0], err = d.plain.CompileModule(ctx, wasm); err != nil {
		return codes, false
	}
	relayout.Validate(d.t, name, relayout.Compiled(d.t, wasm), codestore.Shapes(m))
	dir := d.t.TempDir()
	defer os.RemoveAll(dir)
	if err := codestore.Build(ctx, dir, codestore.Source{Whole: wasm, Stub: m.Stub(nil)}); err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, codestore.StubFile))
	if err != nil {
		d.t.Fatal(err)
	}
	stub, err := codestore.ReadStub(b)
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	if stub.Layout.Refused != "" || stub.Layout.Kept > 0 {
		d.t.Errorf("%s: %+v", name, stub.Layout)
	}
	d.stats.Functions += stub.Layout.Functions
	d.stats.Exits += stub.Layout.Exits
	d.stats.Dead += stub.Layout.Dead
	if codes[1], err = d.loader.Load(ctx, stub, filepath.Join(dir, codestore.CodeFile)); err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	return codes, true
}

// unnamed returns the module without custom sections: the names of its functions,
// which are in stack traces, are in no stub.
func unnamed(m *wasmbin.Module) []byte {
	out := []byte(wasmbin.Header)
	for _, s := range m.Sections {
		if s.ID != wasmbin.SecCustom {
			out = wasmbin.AppendSection(out, s.ID, m.Bytes[s.Start:s.End])
		}
	}
	return out
}

// run calls each export of a module with random arguments, in both codes: results,
// memory and errors, with their stack traces, must be the same. A module with
// imports is compiled only.
func (d *differ) run(name string, wasm []byte, seed uint64) {
	ctx := context.Background()
	codes, ok := d.compile(name, wasm)
	if !ok {
		return
	}
	var in [2]api.Module
	for k, rt := range []wazero.Runtime{d.plain, d.loader.Runtime()} {
		defer codes[k].Close(ctx)
		var err error
		in[k], err = rt.InstantiateModule(ctx, codes[k], wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if err != nil {
			return
		}
		defer in[k].Close(ctx)
	}
	d.modules++
	r := rand.New(rand.NewPCG(seed, 2))
	exports := codes[0].ExportedFunctions()
	var names []string
	for fn := range exports {
		if !strings.Contains(fn, "grow") { // by a random number of pages: 4 GB take long
			names = append(names, fn)
		}
	}
	slices.Sort(names)
	for _, fn := range names {
		for range 12 {
			args := arguments(r, exports[fn].ParamTypes())
			var said [2]string
			for k := range in {
				said[k] = d.call(in[k], fn, args)
			}
			d.calls++
			if said[0] != said[1] && !isReference(exports[fn].ResultTypes()) {
				d.t.Errorf("%s: %s(%x):\n%s\nlaid out anew:\n%s", name, fn, args, said[0], said[1])
			}
		}
	}
	if len(codes[0].ExportedMemories()) > 0 {
		a, _ := in[0].Memory().Read(0, in[0].Memory().Size())
		b, _ := in[1].Memory().Read(0, in[1].Memory().Size())
		if !bytes.Equal(a, b) {
			d.t.Errorf("%s: the memories differ", name)
		}
	}
}

// call returns all that is seen of a call.
func (d *differ) call(m api.Module, fn string, args []uint64) (said string) {
	defer func() {
		if p := recover(); p != nil { // by arguments that the API does not take
			said = fmt.Sprint("panic: ", p)
		}
	}()
	res, err := m.ExportedFunction(fn).Call(context.Background(), args...)
	if err != nil {
		d.traps++
	}
	return fmt.Sprint(res, err)
}

// isReference reports whether there are addresses of the host among results.
func isReference(types []api.ValueType) bool {
	return slices.Contains(types, api.ValueTypeExternref) || slices.Contains(types, 0x70)
}

// special are arguments at which something changes.
var special = []uint64{0, 1, 2, 7, 8, 65535, 65536, 65533, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 1 << 63, 1<<63 - 1, 1<<64 - 1,
	0x7FC00000, 0x7FF8000000000000, 0x43E0000000000000, 0x41E0000000000000, 0x4F000000, 0xBFF0000000000000, 0x3F800000}

func arguments(r *rand.Rand, types []api.ValueType) (args []uint64) {
	const v128 = 0x7B
	for _, p := range types {
		a := special[r.IntN(len(special))]
		if r.IntN(3) == 0 {
			a = r.Uint64N(70000)
		}
		switch p {
		case api.ValueTypeI32, api.ValueTypeF32:
			a = uint64(uint32(a))
		case api.ValueTypeExternref, 0x70:
			a = 0
		}
		args = append(args, a)
		if p == v128 {
			args = append(args, a^0x5555)
		}
	}
	return args
}
