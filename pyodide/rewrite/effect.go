package rewrite

import "coderunner/pyodide/wasmbin"

// sizes has how many bytes each load and store accesses.
var sizes = func() (n [256]uint8) {
	// From i32.load to i64.load32_u, and from i32.store to i64.store32.
	copy(n[wasmbin.OpI32Load:], []uint8{4, 8, 4, 8, 1, 1, 2, 2, 1, 1, 2, 2, 4, 4})
	copy(n[wasmbin.OpI32Store:], []uint8{4, 8, 4, 8, 1, 2, 1, 2, 4})
	return n
}()

// effect returns how many operands an instruction of straight code takes and leaves.
// ok is false for others: those that branch, call, set globals or trap, except by
// an access out of bounds.
func effect(in *wasmbin.Instr) (pops, pushes int, ok bool) {
	switch op := in.Op; {
	case op == wasmbin.OpNop:
		return 0, 0, true
	case op == wasmbin.OpDrop, op == wasmbin.OpLocalSet:
		return 1, 0, true
	case op == wasmbin.OpSelect:
		return 3, 1, true
	case op == wasmbin.OpLocalGet, op == wasmbin.OpGlobalGet, op >= wasmbin.OpI32Const && op <= wasmbin.OpF64Const:
		return 0, 1, true
	case op == wasmbin.OpLocalTee, sizes[op] != 0 && op < wasmbin.OpI32Store:
		return 1, 1, true
	case sizes[op] != 0:
		return 2, 0, true
	case op == wasmbin.PrefixMisc && in.Sub < wasmbin.MiscMemoryInit:
		return 1, 1, true
	}
	switch numeric[in.Op] {
	case 1:
		return 1, 1, true
	case 2:
		return 2, 1, true
	}
	return 0, 0, false
}

// setsLocal reports whether an instruction sets a local.
func setsLocal(in *wasmbin.Instr) bool {
	return in.Op == wasmbin.OpLocalSet || in.Op == wasmbin.OpLocalTee
}

// numeric has the number of operands of the arithmetic instructions that never trap.
var numeric = func() (n [256]uint8) {
	span := func(operands uint8, from, to int) {
		for op := from; op <= to; op++ {
			n[op] = operands
		}
	}
	span(1, wasmbin.OpI32Eqz, 0xc4) // and conversions
	span(2, wasmbin.OpI32Eq, 0x4f)  // comparisons: i32
	span(2, wasmbin.OpI64Eq, 0x66)  // i64, f32, f64
	span(2, wasmbin.OpI32Add, 0x78) // i32
	span(2, wasmbin.OpI64Add, 0x8a) // i64
	span(2, 0x92, 0x98)             // f32: add to copysign
	span(2, 0xa0, 0xa6)             // f64
	span(0, 0x6d, 0x70)             // i32.div_s to i32.rem_u
	span(0, 0x7f, 0x82)             // i64
	span(0, 0xa8, 0xab)             // i32.trunc_f32_s to i32.trunc_f64_u
	span(0, 0xae, 0xb1)             // i64
	return n
}()
