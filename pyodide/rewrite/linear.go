package rewrite

import (
	"maps"
	"math/bits"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// linear is an i32 by what locals held when a group of rounds began: n plus each
// local times its factor, modulo 1<<32.
type linear struct {
	n     uint32
	terms []term // by local, no factor is 0
}

type term struct{ local, factor uint32 }

// maxTerms bounds the time that sums take.
const maxTerms = 4

// plus returns a + b·factor.
func (a linear) plus(b linear, factor uint32) (sum linear, ok bool) {
	sum.n = a.n + b.n*factor
	ts, us := a.terms, b.terms
	for len(ts)+len(us) > 0 {
		var t term
		switch {
		case len(us) == 0 || len(ts) > 0 && ts[0].local < us[0].local:
			t, ts = ts[0], ts[1:]
		case len(ts) == 0 || us[0].local < ts[0].local:
			t, us = term{us[0].local, us[0].factor * factor}, us[1:]
		default:
			t = term{ts[0].local, ts[0].factor + us[0].factor*factor}
			ts, us = ts[1:], us[1:]
		}
		if t.factor != 0 {
			sum.terms = append(sum.terms, t)
		}
	}
	return sum, len(sum.terms) <= maxTerms
}

// minus returns a - b if that is a constant.
func (a linear) minus(b linear) (n uint32, ok bool) {
	return a.n - b.n, slices.Equal(a.terms, b.terms)
}

// code appends instructions that push the sum.
func (a linear) code(b asm) asm {
	for i, t := range a.terms {
		b = b.idx(wasmbin.OpLocalGet, t.local)
		if t.factor != 1 {
			b = b.i32(int32(t.factor)).op(wasmbin.OpI32Mul)
		}
		if i > 0 {
			b = b.op(wasmbin.OpI32Add)
		}
	}
	if len(a.terms) == 0 {
		return b.i32(int32(a.n))
	}
	if a.n != 0 {
		b = b.i32(int32(a.n)).op(wasmbin.OpI32Add)
	}
	return b
}

// operand is an operand as evaluate knows it.
type operand struct {
	linear
	known bool
	at    int // index of the instruction that pushed it
	// Of a comparison: its opcode and operands, which are known.
	cmp byte
	of  *[2]linear
	// 1 plus the local that it is a multiple of, give or take what is added: an
	// invariant one, which may be a stride.
	stride uint32
}

func known(l linear) operand { return operand{linear: l, known: true} }

// access is a load or store.
type access struct {
	round, at int // index of the instruction
	addr      operand
	offset    uint32
	size      uint32
}

func (a *access) end() uint32 { return a.offset + a.size }

// evaluation is what evaluate finds out.
type evaluation struct {
	l        *leaf
	assumed  map[uint32]uint32  // values of locals that never change
	locals   map[uint32]operand // that have changed
	stack    []operand
	accesses []access
	tests    []operand            // by round
	sets     []linear             // by round and instruction: what a local is set to, if it is itself plus n
	moves    []bool               // whether there is such a sum
	aligned  map[uint32]uint32    // bits of locals that must be 0
	starts   []map[uint32]operand // locals by round, if it may be left
}

// evaluate follows the i32 values through a number of rounds of a loop. ok is false
// when a round begins with other operands than the one before.
func (l *leaf) evaluate(rounds int, assumed map[uint32]uint32) (e *evaluation, ok bool) {
	e = &evaluation{l: l, assumed: assumed, locals: map[uint32]operand{}, aligned: map[uint32]uint32{},
		sets: make([]linear, rounds*len(l.code)), moves: make([]bool, rounds*len(l.code))}
	for round := range rounds {
		if l.leaves() {
			e.starts = append(e.starts, maps.Clone(e.locals))
		}
		for i := range l.code {
			if !e.step(round, i) {
				return nil, false
			}
		}
		if len(e.stack) != 0 {
			return nil, false
		}
	}
	return e, true
}

func (e *evaluation) local(i uint32) operand {
	if v, ok := e.locals[i]; ok {
		return v
	}
	if n, ok := e.assumed[i]; ok {
		return known(linear{n: n})
	}
	return known(linear{terms: []term{{i, 1}}})
}

func (e *evaluation) pop() operand {
	v := e.stack[len(e.stack)-1]
	e.stack = e.stack[:len(e.stack)-1]
	return v
}

// step evaluates one instruction. Code that pops more than a round pushed, which
// only unreachable code may, is refused.
func (e *evaluation) step(round, i int) bool {
	in := &e.l.code[i]
	pops, pushes, ok := effect(in)
	if !ok { // a branch
		pops = 1
	}
	if len(e.stack) < pops {
		return false
	}
	var v operand
	switch op := in.Op; {
	case !ok:
		if v = e.pop(); i == e.l.test {
			e.tests = append(e.tests, v)
		}
		return true
	case op == wasmbin.OpLocalGet:
		v = e.local(in.A)
	case setsLocal(in):
		v = e.pop()
		at := round*len(e.l.code) + i
		n, ok := v.minus(linear{terms: []term{{in.A, 1}}})
		e.moves[at] = ok && v.known && n != 0 // what is not an i32 has no sums
		e.sets[at] = v.linear
		e.locals[in.A] = v
	case op == wasmbin.OpI32Const:
		v = known(linear{n: uint32(in.Value)})
	case sizes[op] != 0:
		e.stack = e.stack[:len(e.stack)-(pops-1)]
		e.accesses = append(e.accesses, access{round, i, e.pop(), e.l.offsets[i], uint32(sizes[op])})
	case pops == 2:
		b, a := e.pop(), e.pop()
		v = e.binary(op, a, b)
	case op == wasmbin.OpI32Eqz:
		v = negation(e.pop())
	default:
		e.stack = e.stack[:len(e.stack)-pops]
	}
	if pushes > 0 {
		v.at = i
		e.stack = append(e.stack, v)
	}
	return true
}

// comparison returns the operand as a comparison: of itself with 0 if it is none.
func (v operand) comparison() (operand, bool) {
	if v.cmp == 0 && v.known {
		v.cmp, v.of = wasmbin.OpI32Ne, &[2]linear{v.linear, {}}
	}
	return v, v.cmp != 0
}

// negation returns the operand of i32.eqz.
func negation(v operand) operand {
	v, ok := v.comparison()
	if !ok {
		return operand{}
	}
	return operand{cmp: wasmbin.OpI32Eq + opposite[v.cmp-wasmbin.OpI32Eq], of: v.of}
}

// binary returns the operand of an instruction with two operands.
func (e *evaluation) binary(op byte, a, b operand) (v operand) {
	v.stride = max(a.stride, b.stride)
	if !a.known || !b.known {
		return v
	}
	switch op {
	case wasmbin.OpI32Add:
		v.linear, v.known = a.plus(b.linear, 1)
	case wasmbin.OpI32Sub:
		v.linear, v.known = a.plus(b.linear, ^uint32(0))
	case wasmbin.OpI32Shl:
		if len(b.terms) == 0 {
			v.linear, v.known = linear{}.plus(a.linear, 1<<(b.n&31))
		}
	case wasmbin.OpI32Mul:
		if len(a.terms) == 0 {
			a, b = b, a
		}
		if len(b.terms) == 0 {
			v.linear, v.known = linear{}.plus(a.linear, b.n)
		} else if v.stride = e.strideOf(a, b); v.stride == 0 {
			v.stride = e.strideOf(b, a)
		}
	case wasmbin.OpI32Or:
		// Of bits that are not set: i | 3, where i is a multiple of 4.
		mask := uint32(1)<<bits.Len32(b.n) - 1
		if len(a.terms) == 1 && len(b.terms) == 0 && a.terms[0].factor == 1 && a.n&mask == 0 {
			e.aligned[a.terms[0].local] |= mask
			v.linear, v.known = a.plus(b.linear, 1)
		}
	default:
		if op >= wasmbin.OpI32Eq && op <= wasmbin.OpI32GeU {
			v.cmp, v.of = op, &[2]linear{a.linear, b.linear}
		}
	}
	return v
}

// strideOf returns 1 plus the local that a is if that never changes and b does.
func (e *evaluation) strideOf(a, b operand) uint32 {
	if len(a.terms) != 1 || a.n != 0 || a.terms[0].factor != 1 || e.l.sets[a.terms[0].local] ||
		!slices.ContainsFunc(b.terms, func(t term) bool { return e.l.sets[t.local] }) {
		return 0
	}
	return a.terms[0].local + 1
}

// mirrored returns the comparison with its operands exchanged.
func mirrored(cmp byte) byte {
	switch {
	case cmp < wasmbin.OpI32LtS:
		return cmp
	case (cmp-wasmbin.OpI32LtS)&2 == 0: // lt, le
		return cmp + 2
	}
	return cmp - 2
}
