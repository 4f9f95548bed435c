//go:build amd64

package relayout

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/wasmbin"
)

// wasm is a module of two functions with a loop, a jump table, memory, calls and a
// constant behind the code.
func wasm() []byte {
	var b wasmbin.Builder
	b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1}))
	i32 := []wasmbin.ValType{wasmbin.I32}
	local := func(c []byte) []byte { return wasmbin.AppendOp(c, 0x20, 0) }
	store := append(local(local(nil)), 0x36, 2, 0) // i32.store
	load := append(local(nil), 0x28, 2, 0)         // i32.load
	first := b.Func(wasmbin.FuncType{Params: i32, Results: i32}, nil, append(store, load...))
	table := []byte{0x02, 0x40, 0x02, 0x40, 0x02, 0x40}  // three blocks
	table = append(local(table), 0x0E, 2, 0, 1, 2, 0x0B) // br_table
	table = append(wasmbin.AppendOp(local(table), 0x10, first), 0x0F, 0x0B)
	table = append(local(table), 0x45, 0x0D, 0, 0x0B)                                            // br_if
	table = wasmbin.AppendOp(append(wasmbin.AppendI32Const(local(table), 3), 0x6E), 0x10, first) // i32.div_u
	second := b.Func(wasmbin.FuncType{Params: i32, Results: i32}, nil, table)
	b.Export("f", wasmbin.KindFunc, second)
	// x is no number, or n > 9: 1; or not sqrt(x) < n: 2; or n-1 is 0: 3, else n-1.
	number := []byte{0x20, 0, 0x20, 0, 0x62, 0x20, 1, 0x41, 9, 0x4A, 0x72, 0x04, 0x40, 0x41, 1, 0x0F, 0x0B, 0x20, 0, 0x9F, 0x20, 1, 0xB7, 0x63, 0x45, 0x04, 0x40, 0x41, 2, 0x0F, 0x0B}
	number = append(number, 0x20, 1, 0x41, 1, 0x6B, 0x22, 1, 0x45, 0x04, 0x40, 0x41, 3, 0x0F, 0x0B, 0x20, 1)
	third := b.Func(wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.F64, wasmbin.I32}, Results: i32}, nil, number)
	b.Export("number", wasmbin.KindFunc, third)
	return b.Bytes()
}

// compiled returns the file that wazero writes for a module.
func compiled(t testing.TB, module []byte) []byte {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(ctx)
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(cache).WithCoreFeatures(
		api.CoreFeaturesV2|experimental.CoreFeaturesTailCall|experimental.CoreFeaturesExtendedConst))
	defer rt.Close(ctx)
	if _, err := rt.CompileModule(ctx, module); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parts returns the code of a file and where it is, and the offsets of functions.
func parts(t testing.TB, file []byte) (at int, code []byte, offsets []int32) {
	t.Helper()
	p := len(magic) + 1 + int(file[len(magic)])
	n := int(binary.LittleEndian.Uint32(file[p:]))
	for p += 4; n > 0; n, p = n-1, p+offsetLen {
		offsets = append(offsets, int32(binary.LittleEndian.Uint64(file[p:])))
	}
	size := int(binary.LittleEndian.Uint64(file[p:]))
	return p + 8, file[p+8 : p+8+size], offsets
}

// TestFile lays a file out, twice with the same result, and wants it to be smaller.
func TestFile(t *testing.T) {
	b := compiled(t, wasm())
	out, s, err := File(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := File(b, nil)
	if err != nil || !bytes.Equal(out, again) {
		t.Errorf("another result: %v", err)
	}
	if s.Functions != 3 || s.Kept > 0 || s.Exits < 2 || s.Stubs == 0 || s.Stubs > s.Exits || s.After >= s.Before {
		t.Errorf("%+v", s)
	}
	if _, _, err := File(out, nil); err == nil {
		_, s, _ := File(out, nil)
		if s.Kept != s.Functions {
			t.Errorf("code laid out anew is laid out again: %+v", s)
		}
	}
}

// TestForeign: what is not as expected is refused.
func TestForeign(t *testing.T) {
	file := compiled(t, wasm())
	at, code, _ := parts(t, file)
	seal := func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b[at+len(code):], crc32.Checksum(b[at:at+len(code)], castagnoli()))
		return b
	}
	change := func(at int, b ...byte) []byte {
		out := bytes.Clone(file)
		copy(out[at:], b)
		return out
	}
	for name, b := range map[string][]byte{
		"magic":               change(0, 'X'),
		"version":             change(len(magic)+1, 'x'),
		"checksum":            change(at, 0x90),
		"instruction":         seal(change(at, 0x06)),
		"number of functions": change(len(magic)+1+int(file[len(magic)]), 0xFF, 0xFF, 0xFF, 0xFF),
		"length of code":      change(at-8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF),
		"first offset":        change(at-8-2*offsetLen, 1),
		"second offset":       change(at-8-offsetLen, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF),
		"source map":          change(at+len(code)+4, 1),
		"clauses":             change(at+len(code)+5, 1),
	} {
		if out, _, err := File(b, nil); !errors.Is(err, ErrForeign) || out != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range file {
		if _, _, err := File(file[:n], nil); !errors.Is(err, ErrForeign) {
			t.Errorf("%d of %d bytes: %v", n, len(file), err)
		}
	}
	if _, _, err := File(file, nil); err != nil {
		t.Error(err)
	}
	if _, _, err := File(file, make([]Shape, 2)); !errors.Is(err, ErrForeign) {
		t.Errorf("shapes of other functions: %v", err)
	}
}

// TestShapes wants code of which only the convention reads what it computes to be removed where
// the shapes say that nobody does.
func TestShapes(t *testing.T) {
	_, without, err := File(compiled(t, wasm()), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, with, err := File(compiled(t, wasm()), []Shape{{1, 1}, {1, 1}, {1, 1}})
	if err != nil || with.Kept > 0 || with.After > without.After {
		t.Errorf("%v, %+v, without shapes %+v", err, with, without)
	}
}

// TestVersion holds the version that these tests ran with: after an update of wazero
// its files are refused until the constant is changed, too.
func TestVersion(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(mod, []byte("\tgithub.com/tetratelabs/wazero "+wazeroVersion+"\n")) {
		t.Errorf("go.mod has another version of wazero than %s: read its changes in internal/engine/wazevo, then run the tests of this package with it", wazeroVersion)
	}
}

// FuzzFile wants no panic of any file.
func FuzzFile(f *testing.F) {
	f.Add(compiled(f, wasm()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if out, _, err := File(b, nil); err == nil && len(out) > 2*len(b) {
			t.Errorf("%d bytes from %d", len(out), len(b))
		}
	})
}

// FuzzCode wants no panic of any code: the bytes are changed one after the other
// where the fuzzer says.
func FuzzCode(f *testing.F) {
	_, code, offsets := parts(f, compiled(f, wasm()))
	f.Add([]byte{0, 0, 0x90})
	f.Add([]byte{0, 90, 0xEB, 0, 100, 0xE9})
	f.Fuzz(func(t *testing.T, changes []byte) {
		b := bytes.Clone(code)
		for ; len(changes) >= 3; changes = changes[3:] {
			b[int(binary.BigEndian.Uint16(changes))%len(b)] = changes[2]
		}
		out, at, _, s, err := layOut(b, offsets, nil, nil)
		if err == nil && (len(at) != len(offsets) || len(out) < len(b)/8 && s.Kept > 0) {
			t.Errorf("%d bytes and %d functions from %d and %d", len(out), len(at), len(b), len(offsets))
		}
	})
}
