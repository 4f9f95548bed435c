//go:build amd64

package relayout_test

import (
	"go/build"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"coderunner/pyodide/relayout"
)

// finite are the tests of WebAssembly without functions that a random argument keeps
// busy without end.
var finite = regexp.MustCompile("^(address|i32|i64|f32|f64|f32_cmp|f64_cmp|f32_bitwise|f64_bitwise|conversions|endianness|traps|left-to-right|" +
	"int_exprs|int_literals|float_memory|float_misc|load|store|memory|memory_copy|memory_fill|memory_init|memory_redundancy|local_get|local_set|" +
	"local_tee|select|unreachable|func_ptrs|global|table_copy|table_init|table_fill|table_get|table_set|simd_.*|return|unwind|switch|br)[.]")

// TestSpec calls all exports of the modules of the WebAssembly tests that wazero
// carries, and compiles those of the rest.
func TestSpec(t *testing.T) {
	wazero, err := build.Import("github.com/tetratelabs/wazero", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(wazero.Dir, "internal/integration_test/spectest/*/testdata/*.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	d := newDiffer(t)
	for n, name := range files {
		if testing.Short() && n%23 != 0 || n%3 != 0 && !finite.MatchString(filepath.Base(name)) {
			continue
		}
		wasm, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if short := filepath.Base(name); finite.MatchString(short) {
			d.run(short, wasm, 1)
		} else {
			d.compile(short, wasm)
		}
	}
	t.Logf("%d modules, %d functions, %d calls, %d of them end in an error; %d exits, %d dead instructions",
		d.modules, d.stats.Functions, d.calls, d.traps, d.stats.Exits, d.stats.Dead)
	if d.modules < 20 || d.calls < 500 || d.traps < 50 {
		t.Error("too little was compared")
	}
}

// TestOperandsCalled calls what has jump tables of bytes and constants as operands.
func TestOperandsCalled(t *testing.T) {
	d := newDiffer(t)
	for seed := range uint64(20) {
		d.run("operands", relayout.OperandsModule(), seed)
	}
	if d.calls < 20*6*12 {
		t.Errorf("%d calls", d.calls)
	}
}
