// Package dylinktest makes shared libraries, for tests.
package dylinktest

import (
	"bytes"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// Library makes a shared library: twice(i32), which calls abs of libc, spin(),
// which never returns, apply(fn, i32), which calls back, and answer, a datum.
func Library(undefined ...string) []byte { return library(nil, undefined) }

// Split makes the same library with functions that are large enough to be parts, a larger one, and
// one that apply calls, but not for small numbers.
func Split() []byte { return library(bytes.Repeat([]byte{wasmbin.OpNop}, 5000), nil) }

// library has each function begin with some instructions.
func library(begin []byte, undefined []string) []byte {
	i32 := []wasmbin.ValType{wasmbin.I32}
	one := wasmbin.FuncType{Params: i32, Results: i32}
	var b wasmbin.Builder
	table := b.ImportTable("env", "__indirect_function_table", wasmbin.Table{Type: wasmbin.FuncRef})
	b.ImportMemory("env", "memory", wasmbin.Limits{})
	base := b.ImportGlobal("env", "__memory_base", wasmbin.I32, false)
	abs := b.ImportFunc("env", "abs", one)
	for _, name := range undefined {
		b.ImportFunc("env", name, one)
	}
	get := func(n uint32) []byte { return wasmbin.AppendOp(nil, wasmbin.OpLocalGet, n) }
	code := func(parts ...[]byte) (all []byte) {
		all = append(all, begin...)
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	call := wasmbin.AppendOp(nil, wasmbin.OpCall, abs)
	b.Export("twice", wasmbin.KindFunc, b.Func(one, nil, code(get(0), call, get(0), call, []byte{wasmbin.OpI32Add})))
	b.Export("spin", wasmbin.KindFunc, b.Func(wasmbin.FuncType{}, nil, code([]byte{wasmbin.OpLoop, 0x40, wasmbin.OpBr, 0, wasmbin.OpEnd})))
	var rarely []byte
	if begin != nil {
		rare := b.Func(wasmbin.FuncType{}, nil, code())
		rarely = slices.Concat(get(1), wasmbin.AppendI32Const(nil, 1<<20), []byte{wasmbin.OpI32Eq, wasmbin.OpIf, 0x40}, wasmbin.AppendOp(nil, wasmbin.OpCall, rare), []byte{wasmbin.OpEnd})
	}
	apply := code(rarely, get(1), get(0), wasmbin.AppendOp(nil, wasmbin.OpCallIndirect, b.Type(one)), []byte{byte(table)})
	b.Export("apply", wasmbin.KindFunc, b.Func(wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32, wasmbin.I32}, Results: i32}, nil, apply))
	if begin != nil {
		b.Export("larger", wasmbin.KindFunc, b.Func(wasmbin.FuncType{}, nil, code(begin)))
	}
	// The constructor sets the datum.
	ctor := code(wasmbin.AppendOp(nil, wasmbin.OpGlobalGet, base), wasmbin.AppendI32Const(nil, 42), []byte{wasmbin.OpI32Store, 2, 8})
	b.Export("__wasm_call_ctors", wasmbin.KindFunc, b.Func(wasmbin.FuncType{}, nil, ctor))
	b.Export("answer", wasmbin.KindGlobal, b.GlobalI32(false, 8))
	wasm := b.Bytes()
	// 16 bytes of memory aligned to 16, no slots.
	info := []byte{1, 4, 16, 4, 0, 0}
	out := wasmbin.AppendSection([]byte(wasmbin.Header), wasmbin.SecCustom, wasmbin.AppendName(nil, "dylink.0"), info)
	return append(out, wasm[len(wasmbin.Header):]...)
}
