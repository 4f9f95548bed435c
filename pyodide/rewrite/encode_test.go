package rewrite

import (
	"slices"

	"coderunner/pyodide/wasmbin"
)

// The legacy form of a generated program. Global 0 is acc, global 1 the fuel;
// functions are (i32) -> i32 and stand in table 0 at their own index.

const (
	gAcc  = 0
	gFuel = 1

	tII   = 0 // type (i32) -> i32
	tI    = 1 // type (i32)
	tNone = 2 // type ()
)

func (p *program) encode() []byte {
	n := uint32(len(p.funcs))
	out := []byte(wasmbin.Header)
	vec := func(id wasmbin.SectionID, items ...[]byte) {
		out = wasmbin.AppendSection(out, id, wasmbin.AppendU32(nil, uint32(len(items))), slices.Concat(items...))
	}
	vec(wasmbin.SecType, []byte{0x60, 1, 0x7f, 1, 0x7f}, []byte{0x60, 1, 0x7f, 0}, []byte{0x60, 0, 0})
	vec(wasmbin.SecFunction, slices.Repeat([][]byte{{tII}}, int(n)+1)...)
	vec(wasmbin.SecTable, wasmbin.AppendTable(nil, wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: n}}))
	vec(wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1}))
	var tags [][]byte
	for _, has := range tagPayload {
		if has {
			tags = append(tags, []byte{0, tI})
		} else {
			tags = append(tags, []byte{0, tNone})
		}
	}
	vec(wasmbin.SecTag, tags...)
	zero := []byte{0x7f, 1, wasmbin.OpI32Const, 0, wasmbin.OpEnd}
	vec(wasmbin.SecGlobal, zero, zero)
	vec(wasmbin.SecExport, wasmbin.AppendExport(nil, "main", wasmbin.KindFunc, n),
		wasmbin.AppendExport(nil, "__cpp_exception", wasmbin.KindTag, 0), wasmbin.AppendExport(nil, "other", wasmbin.KindTag, 2))
	elem := wasmbin.AppendU32([]byte{0, wasmbin.OpI32Const, 0, wasmbin.OpEnd}, n)
	for i := range n {
		elem = wasmbin.AppendU32(elem, i)
	}
	vec(wasmbin.SecElement, elem)
	var bodies [][]byte
	for _, f := range append(p.funcs, nil) {
		var e encoder
		if f == nil {
			e.main(int(n))
		} else {
			e.fuel()
			e.stmts(f)
			e.a = e.a.get(0)
		}
		c := append(append([]byte{0}, e.a...), wasmbin.OpEnd)
		bodies = append(bodies, append(wasmbin.AppendU32(nil, uint32(len(c))), c...))
	}
	vec(wasmbin.SecCode, bodies...)
	return out
}

type encoder struct {
	a      asm
	labels []*stmt
}

func (e *encoder) main(n int) {
	e.a = e.a.i32(0).setGlobal(gAcc)
	for f := range n {
		e.a = e.a.i32(fuelPerFunc).setGlobal(gFuel).void(wasmbin.OpTry).get(0).idx(wasmbin.OpCall, uint32(f))
		e.mix()
		e.a = e.a.idx(wasmbin.OpCatch, 1)
		e.mix()
		e.a = e.a.op(wasmbin.OpCatchAll).i32(77)
		e.mix()
		e.a = e.a.end()
	}
	e.a = e.a.global(gAcc)
}

// fuel returns from the function when the program has gone on for too long.
func (e *encoder) fuel() {
	e.a = e.a.global(gFuel).i32(1).op(wasmbin.OpI32Sub).setGlobal(gFuel).
		global(gFuel).i32(0).op(wasmbin.OpI32LtS).void(wasmbin.OpIf).get(0).op(wasmbin.OpReturn).end()
}

// mix takes an operand.
func (e *encoder) mix() {
	e.a = e.a.global(gAcc).i32(31).op(wasmbin.OpI32Mul, wasmbin.OpI32Add).setGlobal(gAcc)
}

func (e *encoder) value(v value) {
	const i32And = 0x71
	switch {
	case v.kind == valueConst:
		e.a = e.a.i32(v.n)
	case v.kind == valueLocal:
		e.a = e.a.get(0)
	case v.kind == valueAcc:
		e.a = e.a.global(gAcc)
	case v.of == valueLocal:
		e.a = e.a.get(0).i32(v.n).op(i32And)
	default:
		e.a = e.a.global(gAcc).i32(v.n).op(i32And)
	}
}

func (e *encoder) stmts(list []*stmt) {
	for _, s := range list {
		e.stmt(s)
	}
}

func (e *encoder) inside(s *stmt, list []*stmt) {
	e.labels = append(e.labels, s)
	e.stmts(list)
	if s.typed {
		e.value(s.v)
	}
	e.labels = e.labels[:len(e.labels)-1]
}

func (e *encoder) stmt(s *stmt) {
	switch s.kind {
	case doMix:
		e.value(s.v)
		e.mix()
	case doSetLocal:
		e.value(s.v)
		e.a = e.a.set(0)
	case doBlock:
		e.a = e.a.op(wasmbin.OpBlock, blockByte(s.typed))
		e.inside(s, s.body)
		e.a = e.a.end()
		if s.typed {
			e.mix()
		}
	case doLoop:
		e.a = e.a.void(wasmbin.OpLoop)
		e.fuel()
		e.inside(s, s.body)
		e.a = e.a.end()
	case doIf:
		e.value(s.v)
		e.a = e.a.void(wasmbin.OpIf)
		e.inside(s, s.body)
		e.a = e.a.op(wasmbin.OpElse)
		e.inside(s, s.other)
		e.a = e.a.end()
	case doTry:
		e.try(s)
	default:
		e.jump(s)
	}
}

func blockByte(typed bool) byte {
	if typed {
		return byte(wasmbin.I32)
	}
	return 0x40
}

func (e *encoder) try(s *stmt) {
	bt := blockByte(s.typed)
	if s.param {
		e.value(s.v)
		if bt = tI; s.typed {
			bt = tII
		}
	}
	e.a = e.a.op(wasmbin.OpTry, bt)
	if s.param {
		e.mix()
	}
	e.inside(s, s.body)
	if s.delegate {
		e.a = e.a.idx(wasmbin.OpDelegate, uint32(s.label))
	} else {
		for _, c := range s.clauses {
			if c.tag < 0 {
				e.a = e.a.op(wasmbin.OpCatchAll)
			} else if e.a = e.a.idx(wasmbin.OpCatch, uint32(c.tag)); tagPayload[c.tag] {
				e.mix()
			}
			e.inside(s, c.body)
		}
		e.a = e.a.end()
	}
	if s.typed {
		e.mix()
	}
}

// when runs f if c holds, one label deeper.
func (e *encoder) when(c value, f func()) {
	e.value(c)
	e.a = e.a.void(wasmbin.OpIf)
	f()
	e.a = e.a.end()
}

func (e *encoder) jump(s *stmt) {
	switch s.kind {
	case doBranch:
		e.branch(s)
	case doThrow:
		throw := func() {
			if tagPayload[s.tag] {
				e.value(s.v)
			}
			e.a = e.a.idx(wasmbin.OpThrow, uint32(s.tag))
		}
		if s.always {
			throw()
		} else {
			e.when(s.c, throw)
		}
	case doRethrow:
		e.when(s.c, func() { e.a = e.a.idx(wasmbin.OpRethrow, uint32(s.label)+1) })
	case doCall:
		e.value(s.v)
		if s.how == 0 {
			e.a = e.a.idx(wasmbin.OpCall, uint32(s.fn))
		} else {
			e.a = e.a.i32(int32(s.fn)).op(wasmbin.OpCallIndirect, tII, 0)
		}
		e.mix()
	case doReturn:
		e.when(s.c, func() {
			e.value(s.v)
			switch s.how {
			case 0:
				e.a = e.a.op(wasmbin.OpReturn)
			case 1:
				e.a = e.a.idx(wasmbin.OpReturnCall, uint32(s.fn))
			default:
				e.a = e.a.i32(int32(s.fn)).op(wasmbin.OpReturnCallIndirect, tII, 0)
			}
		})
	}
}

func (e *encoder) branch(s *stmt) {
	if s.table != nil {
		e.value(s.c)
		e.a = e.a.idx(wasmbin.OpBrTable, uint32(len(s.table)))
		for _, l := range append(slices.Clone(s.table), s.label) {
			e.a = wasmbin.AppendU32(e.a, uint32(l))
		}
		return
	}
	typed := e.labels[len(e.labels)-1-s.label].hasResult()
	if typed {
		e.value(s.v)
	}
	e.value(s.c)
	e.a = e.a.idx(wasmbin.OpBrIf, uint32(s.label))
	if typed {
		e.a = e.a.op(wasmbin.OpDrop)
	}
}
