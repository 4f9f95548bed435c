package rewrite

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const plainFeatures = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func rewritten(t testing.TB, in []byte, o Options) ([]byte, *Info) {
	t.Helper()
	out, info, err := Module(in, o)
	if err != nil {
		t.Fatalf("Module: %v", err)
	}
	return out, info
}

// start instantiates a module in a runtime of its own: on the compiler engine
// without exception handling, or on the interpreter with it.
func start(t testing.TB, b []byte, interpreter bool) api.Module {
	t.Helper()
	ctx := context.Background()
	cfg := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures)
	if interpreter {
		cfg = wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(plainFeatures | experimental.CoreFeaturesExceptionHandling)
	}
	r := wazero.NewRuntimeWithConfig(ctx, cfg)
	t.Cleanup(func() { r.Close(ctx) })
	m, err := r.Instantiate(ctx, b)
	if err != nil {
		t.Fatalf("instantiate: %v", err)
	}
	return m
}

// outcome is what a call of a test module does.
type outcome struct {
	Threw  bool
	Result uint32
	Log    uint32
}

// call calls an export of a test module. A pending exception, or an error where
// the engine has exceptions, counts as thrown.
func call(t testing.TB, m api.Module, name string, p uint64) (o outcome) {
	t.Helper()
	res, err := m.ExportedFunction(name).Call(context.Background(), p)
	flag, _ := m.ExportedGlobal(FlagGlobal).(api.MutableGlobal)
	switch {
	case flag == nil:
		o.Threw = err != nil
	case err != nil:
		t.Errorf("%s(%d): %v", name, p, err)
		return o
	case flag.Get() != 0:
		o.Threw = true
		flag.Set(0)
	}
	if !o.Threw {
		o.Result = uint32(res[0])
	}
	if log := m.ExportedGlobal("log"); log != nil {
		o.Log = uint32(log.Get())
	}
	return o
}

// variants are the ways in which lowering must not change what a module does.
var variants = map[string]Options{
	"plain": {Fuel: -1},
	"fuel":  {Fuel: 3},
	"parts": {forks: 1},
	"lean":  {Lean: true, Trampoline: true, TableMax: 100},
}

// TestExceptions compares rewritten modules on the compiler engine with their
// try_table form on the interpreter.
func TestExceptions(t *testing.T) {
	for _, file := range []string{"eh", "tail"} {
		in, ref := testdata(t, file+".wasm"), testdata(t, file+"-exnref.wasm")
		for name, o := range variants {
			t.Run(file+"/"+name, func(t *testing.T) {
				out, _ := rewritten(t, in, o)
				got, want := start(t, out, false), start(t, ref, true)
				calls, threw := 0, 0
				for _, fn := range slices.Sorted(maps.Keys(want.ExportedFunctionDefinitions())) {
					for p := uint64(0); p < 12; p++ {
						g, w := call(t, got, fn, p), call(t, want, fn, p)
						if g != w {
							t.Errorf("%s(%d) = %+v, want %+v", fn, p, g, w)
						}
						calls++
						if w.Threw {
							threw++
						}
					}
				}
				if calls < 40 || file == "eh" && threw == 0 {
					t.Errorf("%d calls, %d exceptions: too few to show anything", calls, threw)
				}
			})
		}
	}
}

func TestDeterministic(t *testing.T) {
	in := testdata(t, "eh.wasm")
	for name, o := range variants {
		a, _ := rewritten(t, in, o)
		for range 5 {
			if b, _ := rewritten(t, in, o); string(a) != string(b) {
				t.Errorf("%s: the output differs between runs", name)
			}
		}
	}
}
