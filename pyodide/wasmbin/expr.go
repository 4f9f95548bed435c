package wasmbin

// constInstr reads one instruction of a constant expression: its opcode, and its
// index or the value of i32.const.
func (r *Reader) constInstr() (op byte, v uint32) {
	at := r.pos
	switch op = r.Byte(); op {
	case OpI32Const:
		v = uint32(r.S32())
	case OpI64Const:
		r.S64()
	case OpF32Const:
		r.Bytes(4)
	case OpF64Const:
		r.Bytes(8)
	case OpGlobalGet, OpRefFunc:
		v = r.U32()
	case OpRefNull:
		if t := r.ValType(); r.err == nil && !t.Ref() {
			r.Fail(at, "null of type %v", t)
		}
	case OpI32Add, OpI32Sub, OpI32Mul, OpI64Add, OpI64Sub, OpI64Mul, OpEnd:
	case PrefixSIMD:
		if s := r.U32(); s != simdConst {
			r.Fail(at, "unsupported constant instruction 0xfd %d", s)
		}
		r.Bytes(16)
	default:
		r.Fail(at, "unsupported constant instruction %#x", op)
	}
	return op, v
}

// constExpr reads a constant expression that may use the globals below nGlobals.
func (r *Reader) constExpr(m *Module, nGlobals int) Expr {
	start := r.pos
	for r.err == nil {
		at := r.pos
		switch op, v := r.constInstr(); {
		case r.err != nil:
		case op == OpEnd:
			return Expr(r.b[start:r.pos:r.pos])
		case op == OpGlobalGet && int(v) >= nGlobals:
			r.Fail(at, "global index %d out of range (%d)", v, nGlobals)
		case op == OpRefFunc && int(v) >= len(m.Funcs):
			r.Fail(at, "function index %d out of range (%d)", v, len(m.Funcs))
		}
	}
	return nil
}

// Const32 returns the value of an expression that is one i32.const.
func (e Expr) Const32() (int32, bool) {
	v, ok := e.single(OpI32Const)
	return int32(v), ok
}

// RefFunc returns the function of an expression that is one ref.func.
func (e Expr) RefFunc() (uint32, bool) { return e.single(OpRefFunc) }

func (e Expr) single(op byte) (uint32, bool) {
	if len(e) < 3 || e[0] != op {
		return 0, false
	}
	r := NewReader(e, 0, len(e), "expression")
	_, v := r.constInstr()
	return v, r.Byte() == OpEnd && r.err == nil && r.Len() == 0
}

// Eval32 evaluates an i32 expression; global returns the value of a global and
// whether it has one.
func (e Expr) Eval32(global func(uint32) (uint32, bool)) (uint32, bool) {
	r := NewReader(e, 0, len(e), "expression")
	var st []uint32
	for r.err == nil {
		switch op, v := r.constInstr(); op {
		case OpI32Const:
			st = append(st, v)
		case OpGlobalGet:
			v, ok := global(v)
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
		at := r.pos
		if op, g := r.constInstr(); op == OpGlobalGet && r.err == nil {
			f(at+1, r.pos, g)
		}
	}
}
