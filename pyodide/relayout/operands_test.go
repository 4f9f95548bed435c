//go:build amd64

package relayout

import (
	"fmt"
	"slices"
	"testing"

	"coderunner/pyodide/wasmbin"
)

// operandsModule is a module with jump tables of bytes and constant addresses.
func operandsModule() []byte {
	var b wasmbin.Builder
	b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1}))
	const cases = 200
	table := []byte{0x0E}
	table = wasmbin.AppendU32(table, cases)
	for n := range cases + 1 {
		table = append(table, byte(n%3))
	}
	i32 := []wasmbin.ValType{wasmbin.I32}
	b.Func(wasmbin.FuncType{Params: i32, Results: i32}, nil, []byte{0x20, 0})
	blocks := []byte{0x02, 0x40, 0x02, 0x40, 0x02, 0x40}
	results := []byte{0x0B, 0x41, 10, 0x10, 0, 0x0F, 0x0B, 0x41, 20, 0x10, 0, 0x0F, 0x0B, 0x20, 0, 0x10, 0} // each calls the first
	masked := []byte{0x20, 0, 0x41, 0xFF, 0x01, 0x71}                                                       // local.get 0, i32.const 255, i32.and
	loaded := []byte{0x20, 0, 0x41, 0x0F, 0x71, 0x2D, 0, 0x40}                                              // i32.load8_u at 64 and its lower 4 bits
	for name, index := range [][]byte{
		masked,
		append(slices.Clone(masked), 0x41, 1, 0x6B),
		append(slices.Clone(masked), 0x41, 3, 0x6A),
		loaded,
		append(slices.Clone(loaded), 0x41, 7, 0x6B),
	} {
		body := slices.Concat(blocks, index, table, results)
		f := b.Func(wasmbin.FuncType{Params: i32, Results: i32}, nil, body)
		b.Export(fmt.Sprint(name), wasmbin.KindFunc, f)
	}
	many := wasmbin.FuncType{Params: slices.Repeat(i32, 10), Results: i32}
	constants := []byte{
		0x41, 0xC0, 0x00, 0x41, 7, 0x36, 2, 0, // i32.store at 64 of 7
		0x41, 0xC4, 0x00, 0x20, 0, 0x36, 2, 0, // at 68 of the first argument
		0x20, 1, 0x41, 0xC4, 0x00, 0x28, 2, 0, 0x6A, // i32.load at 68, and a sum
	}
	b.Export("constants", wasmbin.KindFunc, b.Func(many, nil, constants))
	return b.Bytes()
}

// OperandsModule is for tests that call it.
var OperandsModule = operandsModule

// TestOperands wants the tables and constants of operandsModule in place of what was.
func TestOperands(t *testing.T) {
	_, code, offsets := parts(t, compiled(t, operandsModule()))
	m := newModule(code, offsets, nil, nil)
	if err := m.each(m.findEntry); err != nil {
		t.Fatal(err)
	}
	var f function
	made, tables := map[uint16]int{}, 0
	for n := range offsets {
		if err := m.layFunction(&f, n); err != nil {
			t.Fatal(err)
		}
		for _, table := range f.tables {
			if len(table) == byteTable {
				tables++
			}
		}
		for k := range f.insts {
			if i := &f.insts[k]; i.made {
				made[i.op]++
			} else if i.op == opMoveIf|condAE || i.restoresStack() {
				t.Errorf("function %d: % x", n, f.code[i.at:i.end()])
			}
		}
	}
	if tables != 5 || made[opStoreImm] < 1 || made[opImm8] < 3 || made[opZeroByte] < 3 {
		t.Errorf("%d tables, instructions %x", tables, made)
	}
}
