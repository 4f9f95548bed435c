package rewrite

import (
	"slices"

	"coderunner/pyodide/wasmbin"
)

// Loops that branch.
//
// Of a loop without calls one path through its body is followed, which passes by what an if
// without an else has in it. Groups of rounds (strides.go) are of that path only: they leave off
// at the beginning of a round that takes another, and the loop does that round as ever. Of what a
// round has done up to there nothing is seen: it has not stored, and the locals that it has set
// are put back, or will be set to the same again before they are read.
//
// The loop may end before the last round of a group, so that none may trap for its
// accesses: the memory's size is compared first, and the loop does what lies at its end. Groups
// are where a loop has passed its header as often as it pays for, so that short loops have nothing
// to do with them:
//
//	loop
//	  tank -= paid, tank < 1, if tick end, headers → counter
//	  loop
//	    counter -= 1, counter < 0, if groups, br 2 else end
//	    body

// leaf is a path from the beginning of a loop to a branch back.
type leaf struct {
	code    []wasmbin.Instr
	offsets []uint32     // of loads and stores
	until   map[int]bool // branches by index; true: the path is left if the operand is not 0
	test    int          // the branch that counts rounds
	sets    map[uint32]bool
}

// leaves reports whether the path may be left before the last round that the test counts.
func (l *leaf) leaves() bool { return len(l.until) > 1 }

func (l *leaf) branches(i int) bool {
	_, ok := l.until[i]
	return ok
}

// branch adds a branch to the end of the path.
func (l *leaf) branch(until bool) {
	if len(l.until) == 0 {
		l.test = len(l.code)
	}
	l.until[len(l.code)] = until
}

// leafLoop follows the loop that begins:
//
//	loop …, br_if out, …, br 0     loop …, if …, br 1     loop …, br_if 0
func (c *coder) leafLoop() (l *leaf, ok bool) {
	if c.r.o.Skip&PassStrides != 0 {
		return nil, false
	}
	ahead, back := *c.c, uint32(0)
	l = &leaf{until: map[int]bool{}, sets: map[uint32]bool{}}
	var in wasmbin.Instr
	for len(l.code) < maxStraight && ahead.Next(&in) {
		offset := uint32(0)
		switch {
		case in.Op == wasmbin.OpBrIf:
			l.branch(in.A != back)
		case in.Op == wasmbin.OpIf && in.A == wasmbin.BlockEmpty:
			body, goesOn, ok := passBy(ahead, back+1)
			if !ok {
				return nil, false
			}
			if l.branch(!goesOn); goesOn {
				back++
			} else {
				ahead = body
			}
		case in.Op == wasmbin.OpBr && in.A == back:
			return l, len(l.until) > 0
		case setsLocal(&in):
			l.sets[in.A] = true
		case in.Op == wasmbin.OpGlobalGet:
			if _, ok := c.r.got.offset(in.A); ok {
				return nil, false
			}
		case sizes[in.Op] != 0:
			r := wasmbin.NewReader(c.b, in.Imm, in.End, "code")
			r.U32()
			offset = r.U32()
		default:
			if _, _, ok := effect(&in); !ok {
				return nil, false
			}
		}
		l.code, l.offsets = append(l.code, in), append(l.offsets, offset)
		if in.Op == wasmbin.OpBrIf && in.A == back {
			return l, true
		}
	}
	return nil, false
}

// passBy returns the code behind the end of an if, or goesOn if what is in it ends with a branch
// to a label: back to the loop.
func passBy(code wasmbin.Code, label uint32) (behind wasmbin.Code, goesOn, ok bool) {
	var in wasmbin.Instr
	for depth := 0; code.Next(&in); {
		switch in.Op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf:
			depth++
		case wasmbin.OpElse:
			if depth == 0 {
				return code, goesOn, goesOn
			}
		case wasmbin.OpEnd:
			if depth--; depth < 0 {
				return code, goesOn, true
			}
		}
		goesOn = depth == 0 && (in.Op == wasmbin.OpBr || in.Op == wasmbin.OpBrIf) && in.A == label
	}
	return code, false, false
}

// trace writes groups of rounds of a path, whichever of its branches counts them.
func (c *coder) trace(l *leaf) {
	for l.test = range l.code {
		if !l.branches(l.test) {
			continue
		}
		steps, ok := l.steps()
		if !ok {
			return
		}
		if _, done := c.group(l, steps.sizes); done {
			c.r.stats.Traces++
			c.meet()
			return
		}
	}
}

// mayLeave reports whether what a round has done where it leaves the path is not seen.
func (g *group) mayLeave() bool {
	if !g.l.leaves() {
		return true
	}
	last := 0
	for i := range g.l.until {
		if i != g.l.test {
			last = max(last, i)
		}
	}
	for i := range last {
		switch in := &g.l.code[i]; {
		case in.Op >= wasmbin.OpI32Store && sizes[in.Op] != 0:
			return false
		case setsLocal(in) && !g.allMove(i) && g.readFirst(in.A):
			return false
		}
	}
	return true
}

// readFirst reports whether a round reads a local before it sets it.
func (g *group) readFirst(local uint32) bool {
	for i := range g.l.code {
		switch in := &g.l.code[i]; {
		case in.Op == wasmbin.OpLocalGet && in.A == local:
			return true
		case setsLocal(in) && in.A == local:
			return false
		}
	}
	return false
}

// leave leaves the groups at the beginning of a round if an instruction of it branches.
func (g *group) leave(code asm, round, at int) asm {
	if !g.l.until[at] {
		code = code.op(wasmbin.OpI32Eqz)
	}
	code = code.void(wasmbin.OpIf)
	done := map[uint32]bool{}
	for i := range g.l.code {
		in := &g.l.code[i]
		if !setsLocal(in) || done[in.A] || !g.readFirst(in.A) {
			continue
		}
		first := in.A // what it was when the group began
		switch moved := slices.Contains(g.moved, in.A); {
		case moved && round == 0 || !moved && i > at:
			continue
		case !moved:
			first = g.copies[in.A]
		}
		done[in.A] = true
		code = code.idx(wasmbin.OpLocalGet, first)
		if v, ok := g.starts[round][in.A]; ok {
			code = code.i32(int32(v.n)).op(wasmbin.OpI32Add)
		}
		code = code.idx(wasmbin.OpLocalSet, in.A)
	}
	return code.idx(wasmbin.OpBr, leaveGroups).op(wasmbin.OpElse).end()
}

// leaveGroups leads out of an if and the loops and the block of a group.
const leaveGroups = 3

// leaveOutside leaves the groups if not all of n bytes at the address on the stack are in the
// memory.
func leaveOutside(code asm, n int64) asm {
	return code.op(wasmbin.OpI64ExtendI32U).i64(n).op(wasmbin.OpI64Add, wasmbin.OpMemorySize, 0, wasmbin.OpI64ExtendI32U).
		i64(16).op(wasmbin.OpI64Shl, wasmbin.OpI64GtU).void(wasmbin.OpIf).idx(wasmbin.OpBr, leaveGroups).op(wasmbin.OpElse).end()
}
