package rewrite

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// FuzzModule feeds arbitrary bytes. Module must not panic, and must not make an
// invalid module of a valid one: what the engine accepts as it is (which leaves
// out legacy exceptions; TestRandomModules has those) it must accept rewritten.
func FuzzModule(f *testing.F) {
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(0))
		f.Add(b, uint8(7))
	}
	f.Add(stridesModule(1, 20), uint8(1))
	f.Add(countModule(), uint8(0))
	for seed := range uint64(8) {
		f.Add(generate(rand.New(rand.NewPCG(seed, 7))).encode(), uint8(seed))
		f.Add(memoryModule(seed, 4), uint8(64+seed))
	}
	f.Add(pythonLike("", nil), uint8(40))
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(plainFeatures))
	f.Fuzz(func(t *testing.T, in []byte, how uint8) {
		o := Options{Side: how&1 != 0, Lean: how&9 == 8, Trampoline: how&9 == 8, Threads: how&41 == 40}
		if how&2 != 0 {
			o.TableMax = 1000
		}
		if how&16 != 0 {
			o.Fuel = -1
		}
		if how&64 != 0 {
			o.forks = 1
		}
		out, info, err := Module(in, o)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "wasm: ") && !strings.HasPrefix(err.Error(), "rewrite: ") {
				t.Errorf("error without origin: %v", err)
			}
			return
		}
		info.Arity()
		if len(in) > 1<<14 {
			return
		}
		orig, err := r.CompileModule(ctx, in)
		if err != nil {
			return
		}
		orig.Close(ctx)
		cm, err := r.CompileModule(ctx, out)
		if err != nil {
			t.Fatalf("valid before, not after: %v", err)
		}
		cm.Close(ctx)
	})
}
