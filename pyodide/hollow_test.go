package pyodide

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/dylink"
	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/wasmbin"
)

// answering makes a module with a function that gives a number.
func answering(n int32) *whole {
	b := new(wasmbin.Builder)
	f := b.Func(wasmbin.FuncType{Results: []wasmbin.ValType{wasmbin.I32}}, nil, wasmbin.AppendI32Const(nil, n))
	b.Export("answer", wasmbin.KindFunc, f)
	return &whole{item: "test", wasm: b.Bytes(), info: &rewrite.Info{Globals: []string{"g"}}}
}

// testStore keeps everything in a folder and checks nothing.
type testStore struct{ dir string }

func (s testStore) File(ctx context.Context, kind, key string, build func(context.Context, io.Writer) error) (string, error) {
	path := filepath.Join(s.dir, kind+digest([]byte(key)))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	f, err := os.CreateTemp(s.dir, "new")
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := build(ctx, f); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return path, os.Rename(f.Name(), path)
}

func (s testStore) Dir(context.Context, string, string, func(context.Context, string) error) (string, error) {
	return "", errors.ErrUnsupported
}

// testRuntime makes a runtime that has no main module.
func testRuntime(t *testing.T, s Store) *Runtime {
	t.Helper()
	ctx := context.Background()
	r := &Runtime{config: Config{Store: s}}
	var err error
	if r.code, err = openMachineCode(); err != nil {
		t.Fatal(err)
	}
	r.wz = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features).WithCompilationCache(r.code.cache))
	t.Cleanup(func() {
		if err := errors.Join(r.wz.Close(ctx), r.code.close(ctx)); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(r.code.dir); err == nil {
			t.Errorf("%s is left", r.code.dir)
		}
	})
	if r.stamp, err = r.code.stamp(ctx, r.wz); err != nil {
		t.Fatal(err)
	}
	return r
}

// answer loads the module of a key and calls it. Made says how often it asked
// for the whole module. Tamper may change what is loaded.
func answer(r *Runtime, m *whole, tamper func(h *hollow, code string)) (got uint64, made int, err error) {
	ctx := context.Background()
	making := func() (*whole, error) { made++; return m, nil }
	c, err := loadTest(r, digest(m.wasm), making, tamper)
	if err != nil {
		return 0, made, err
	}
	defer c.Close(ctx)
	got, err = call(r, c)
	return got, made, err
}

func loadTest(r *Runtime, key string, making func() (*whole, error), tamper func(h *hollow, code string)) (wazero.CompiledModule, error) {
	ctx := context.Background()
	file, code, err := r.stored(ctx, mainKinds, key, making)
	if err != nil {
		return nil, err
	}
	h, unmap, err := openHollow(file)
	if err != nil {
		return nil, err
	}
	defer unmap()
	if tamper != nil {
		tamper(h, code)
	}
	return r.load(ctx, h, code, making)
}

func call(r *Runtime, c wazero.CompiledModule) (uint64, error) {
	ctx := context.Background()
	mod, err := r.instantiateAnonymous(ctx, c)
	if err != nil {
		return 0, err
	}
	defer mod.Close(ctx)
	res, err := mod.ExportedFunction("answer").Call(ctx)
	if err != nil {
		return 0, fmt.Errorf("the body of the hollow module has run: %w", err)
	}
	return res[0], nil
}

// TestHollowModule wants the whole module's code to run, of a store that is
// empty, filled, and filled by somebody else.
func TestHollowModule(t *testing.T) {
	s := testStore{t.TempDir()}
	first := testRuntime(t, s)
	for i, c := range []struct {
		r    *Runtime
		m    *whole
		want uint64
		made int
	}{
		{first, answering(42), 42, 2}, // the hollow module, and the code
		{first, answering(42), 42, 0},
		{first, answering(43), 43, 2}, // only its body differs
		{first, answering(42), 42, 0},
		{testRuntime(t, s), answering(43), 43, 0},
	} {
		if got, made, err := answer(c.r, c.m, nil); err != nil || got != c.want || made != c.made {
			t.Errorf("row %d: %d, made %d times, %v; want %d, %d", i, got, made, err, c.want, c.made)
		}
	}
}

// TestCodeNotTaken wants the whole module to be compiled when wazero, for
// whatever reason, does not use the machine code.
func TestCodeNotTaken(t *testing.T) {
	write := func(data []byte) func(*hollow, string) {
		return func(_ *hollow, code string) {
			if err := errors.Join(os.Remove(code), os.WriteFile(code, data, 0o400)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tamper := range map[string]func(h *hollow, code string){
		"under another name": func(h *hollow, _ string) { h.Code = strings.Repeat("0", len(h.Code)) },
		"gone":               func(_ *hollow, code string) { os.Remove(code) },
		"empty":              write(nil),
		"of another version": write(append([]byte("WAZEVO\x05v0.0."), make([]byte, 100)...)),
		"something else":     write([]byte("something else, of some length")),
		"cut": func(h *hollow, code string) {
			b, err := os.ReadFile(code)
			if err != nil {
				t.Fatal(err)
			}
			write(b[:len(b)-len(b)/4])(h, code)
		},
	} {
		r := testRuntime(t, testStore{t.TempDir()})
		if got, made, err := answer(r, answering(42), tamper); err != nil || got != 42 || made != 3 {
			t.Errorf("%s: %d, made %d times, %v", name, got, made, err)
		}
	}
}

// TestHollowNeedsTheWhole wants an error, not the hollow module, when there is
// nothing to compile.
func TestHollowNeedsTheWhole(t *testing.T) {
	ctx := context.Background()
	r := testRuntime(t, testStore{t.TempDir()})
	m := answering(1)
	file, code, err := r.stored(ctx, mainKinds, "k", func() (*whole, error) { return m, nil })
	if err != nil {
		t.Fatal(err)
	}
	h, unmap, err := openHollow(file)
	if err != nil {
		t.Fatal(err)
	}
	defer unmap()
	if err := os.Remove(code); err != nil {
		t.Fatal(err)
	}
	c, err := r.load(ctx, h, code, func() (*whole, error) { return nil, errNotPrepared })
	if c != nil || !errors.Is(err, errNotPrepared) || !errors.Is(err, errNotTaken) {
		t.Errorf("%v, %v", c, err)
	}
}

// TestHollowModulesAlike has two modules loaded that differ in their bodies only.
func TestHollowModulesAlike(t *testing.T) {
	r := testRuntime(t, testStore{t.TempDir()})
	var codes []wazero.CompiledModule
	for _, n := range []int32{42, 43} {
		m := answering(n)
		c, err := loadTest(r, digest(m.wasm), func() (*whole, error) { return m, nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		codes = append(codes, c)
	}
	for i, c := range codes {
		if got, err := call(r, c); err != nil || got != uint64(42+i) {
			t.Errorf("%d, %v; want %d", got, err, 42+i)
		}
	}
}

// TestHollowModulesAtOnce loads from several runtimes and goroutines.
func TestHollowModulesAtOnce(t *testing.T) {
	s := testStore{t.TempDir()}
	var wg sync.WaitGroup
	for range 2 {
		r := testRuntime(t, s)
		for i := range 4 {
			wg.Go(func() {
				if got, _, err := answer(r, answering(int32(i%2)), nil); err != nil || got != uint64(i%2) {
					t.Errorf("%d, want %d: %v", got, i%2, err)
				}
			})
		}
	}
	wg.Wait()
}

// TestStamp wants the same words of every process for the same machine code.
func TestStamp(t *testing.T) {
	s := testStore{t.TempDir()}
	a, b := testRuntime(t, s).stamp, testRuntime(t, s).stamp
	if a != b || !strings.HasPrefix(a, "wazero-") || len(a) < 80 {
		t.Errorf("%q, %q", a, b)
	}
}

func hollowFile(t testing.TB) (*hollow, []byte) {
	t.Helper()
	h := &hollow{hollowHead: hollowHead{Code: "name", Digest: "d", Info: &rewrite.Info{Symbols: map[string]uint32{"s": 1}}},
		wasm: []byte("wasm"), data: []dylink.Segment{{Addr: 3, Bytes: []byte("ab")}, {Addr: 9, Bytes: []byte("cde")}}}
	var b bytes.Buffer
	if err := h.write(&b); err != nil {
		t.Fatal(err)
	}
	return h, b.Bytes()
}

func TestReadHollow(t *testing.T) {
	want, b := hollowFile(t)
	got, err := readHollow(b)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.wasm) != "wasm" || got.Code != "name" || got.Info.Symbols["s"] != 1 || len(got.data) != 2 ||
		got.data[1].Addr != 9 || !bytes.Equal(got.data[1].Bytes, want.data[1].Bytes) {
		t.Errorf("got %+v", got)
	}
	for n := range b {
		if _, err := readHollow(b[:n]); !errors.Is(err, errHollow) {
			t.Errorf("of %d bytes: %v", n, err)
		}
	}
}

// FuzzReadHollow wants no panic.
func FuzzReadHollow(f *testing.F) {
	_, b := hollowFile(f)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHollow(b)
		if err == nil && len(h.wasm) > len(b) {
			t.Errorf("%d bytes out of %d", len(h.wasm), len(b))
		}
	})
}
