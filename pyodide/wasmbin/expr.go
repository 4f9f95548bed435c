package wasmbin

// Expr is a constant expression including its end.
type Expr []byte

// constExpr reads a constant expression that may use the globals below nGlobals.
func (r *Reader) constExpr(m *Module, nGlobals int) Expr {
	start := r.pos
	for r.err == nil {
		at := r.pos
		switch op := r.Byte(); op {
		case OpEnd:
			return Expr(r.b[start:r.pos:r.pos])
		case OpI32Const:
			r.S32()
		case OpI64Const:
			r.S64()
		case OpF32Const:
			r.Bytes(4)
		case OpF64Const:
			r.Bytes(8)
		case OpGlobalGet:
			r.index("global", nGlobals)
		case OpRefFunc:
			r.index("function", len(m.Funcs))
		case OpRefNull:
			if t := r.ValType(); r.err == nil && !t.Ref() {
				r.Fail(at, "null of type %v", t)
			}
		case OpI32Add, OpI32Sub, OpI32Mul, OpI64Add, OpI64Sub, OpI64Mul:
		case PrefixSIMD:
			if s := r.U32(); s != simdConst {
				r.Fail(at, "unsupported constant instruction 0xfd %d", s)
			}
			r.Bytes(16)
		default:
			r.Fail(at, "unsupported constant instruction %#x", op)
		}
	}
	return nil
}

// Const32 returns the value of an expression that is one i32.const.
func (e Expr) Const32() (int32, bool) {
	if len(e) < 3 || e[0] != OpI32Const {
		return 0, false
	}
	r := NewReader(e, 1, len(e), "expression")
	v := r.S32()
	return v, r.Byte() == OpEnd && r.err == nil && r.Len() == 0
}

// RefFunc returns the function of an expression that is one ref.func.
func (e Expr) RefFunc() (uint32, bool) {
	if len(e) < 3 || e[0] != OpRefFunc {
		return 0, false
	}
	r := NewReader(e, 1, len(e), "expression")
	v := r.U32()
	return v, r.Byte() == OpEnd && r.err == nil && r.Len() == 0
}

// Eval32 evaluates an i32 expression; global gives the value of a global and
// reports false when it has none.
func (e Expr) Eval32(global func(uint32) (uint32, bool)) (uint32, bool) {
	r := NewReader(e, 0, len(e), "expression")
	var st []uint32
	for r.err == nil {
		switch op := r.Byte(); op {
		case OpI32Const:
			st = append(st, uint32(r.S32()))
		case OpGlobalGet:
			v, ok := global(r.U32())
			if !ok {
				return 0, false
			}
			st = append(st, v)
		case OpI32Add, OpI32Sub, OpI32Mul:
			n := len(st) - 2
			if n < 0 {
				return 0, false
			}
			switch op {
			case OpI32Add:
				st[n] += st[n+1]
			case OpI32Sub:
				st[n] -= st[n+1]
			default:
				st[n] *= st[n+1]
			}
			st = st[:n+1]
		case OpEnd:
			return append(st, 0)[0], len(st) == 1 && r.Len() == 0
		default:
			return 0, false
		}
	}
	return 0, false
}

// Globals calls f for each global that the expression reads, with the place of
// the index in e.
func (e Expr) Globals(f func(start, end int, global uint32)) {
	r := NewReader(e, 0, len(e), "expression")
	for r.Len() > 0 {
		switch r.Byte() {
		case OpI32Const:
			r.S32()
		case OpI64Const:
			r.S64()
		case OpF32Const:
			r.Bytes(4)
		case OpF64Const:
			r.Bytes(8)
		case OpGlobalGet:
			at := r.pos
			if g := r.U32(); r.err == nil {
				f(at, r.pos, g)
			}
		case OpRefFunc:
			r.U32()
		case OpRefNull:
			r.Byte()
		case PrefixSIMD:
			r.U32()
			r.Bytes(16)
		}
	}
}
