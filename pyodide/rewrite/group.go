package rewrite

import (
	"maps"
	"math/bits"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// base is a local of ours with an address, and what lies at constant distances.
type base struct {
	first    linear
	from     int64 // distance of the lowest address from the first
	to       int64 // of the end of the highest
	last     int   // the access that ends there
	accesses []int
	local    uint32
}

// group writes some rounds of a loop as one.
type group struct {
	*evaluation
	c      *coder
	rounds int
	tests  [2]operand // of the first two rounds
	bases  []base
	baseOf map[int]*base // by access
	byAddr map[int]int   // by place in the rounds: the access whose address is pushed there
	byOp   map[int]int   // and which is there
	copies map[uint32]uint32
	locals uint32   // the next of ours
	skip   []bool   // instructions that are left out
	moved  []uint32 // locals that move only at the end
	places places   // of the loads and stores in the code
}

// place numbers the instructions of all rounds.
func (e *evaluation) place(round, i int) int { return round*len(e.l.code) + i }

// write returns the code, if it saves comparisons and it is known how many rounds
// there are.
func (g *group) write() (code asm, ok bool) {
	count, ok := g.count()
	if !ok || !g.findBases() || !g.staysAligned() {
		return nil, false
	}
	g.locals = g.c.locals + g.c.counter + 2*uint32(g.c.top().depth)
	g.copies = map[uint32]uint32{}
	g.skipTest()
	g.findMoved()
	if !g.mayLeave() {
		return nil, false
	}
	var body asm
	for round := range g.rounds {
		for i := range g.l.code {
			body = g.instr(body, round, i)
		}
	}
	counter, r := g.c.locals, g.c.r
	code = g.guards().void(wasmbin.OpLoop)
	code = append(code, count...)
	code = code.idx(wasmbin.OpLocalTee, counter).i32(int32(paid/g.rounds)).idx(wasmbin.OpLocalGet, counter).i32(int32(paid/g.rounds)).
		op(wasmbin.OpI32LtU, wasmbin.OpSelect).idx(wasmbin.OpLocalTee, counter).void(wasmbin.OpIf).op(wasmbin.OpElse).idx(wasmbin.OpBr, 2).end()
	code = append(code, r.pay()...)
	code = code.void(wasmbin.OpLoop)
	for _, local := range slices.Sorted(maps.Keys(g.copies)) {
		code = code.idx(wasmbin.OpLocalGet, local).idx(wasmbin.OpLocalSet, g.copies[local])
	}
	inBody := g.places
	g.places = nil
	for _, b := range g.bases {
		code = g.touch(&b, code)
	}
	for _, p := range inBody {
		g.places = append(g.places, place{at: p.at + uint32(len(code)), of: p.of})
	}
	code = append(code, body...)
	for _, local := range g.moved {
		code = g.local(local).code(code).idx(wasmbin.OpLocalSet, local)
	}
	code = code.idx(wasmbin.OpLocalGet, counter).i32(1).op(wasmbin.OpI32Sub).idx(wasmbin.OpLocalTee, counter).
		void(wasmbin.OpIf).idx(wasmbin.OpBr, 1).op(wasmbin.OpElse).end().end().idx(wasmbin.OpBr, 0).end().op(wasmbin.OpElse)
	if len(g.assumed)+len(g.aligned) == 0 {
		code = code[:len(code)-1] // of a block
	}
	g.c.nLocals = max(g.c.nLocals, g.locals-g.c.locals)
	return code.end(), true
}

// count returns code that pushes how often the group can be done.
func (g *group) count() (code asm, ok bool) {
	t, ok := g.tests[0].comparison()
	if !ok {
		return nil, false
	}
	if g.l.until[g.l.test] {
		t = negation(t)
	}
	a, b, cmp := t.of[0], t.of[1], t.cmp
	step, other, ok := g.testSteps()
	if !ok || step != 0 && other != 0 {
		return nil, false
	}
	if step == 0 {
		a, b, step, cmp = b, a, other, mirrored(cmp)
	}
	down := int32(step) < 0
	if down {
		a, b, step = b, a, -step
	}
	left, ok := b.plus(a, ^uint32(0))
	if step == 0 || step&(step-1) != 0 || !ok {
		return nil, false
	}
	code = left.code(nil).i32(int32(bits.Len32(step) - 1 + bits.Len(uint(g.rounds)) - 1)).op(wasmbin.OpI32ShrU)
	switch op := int(cmp); {
	case op == wasmbin.OpI32Ne:
		return code, true
	case down && (op == wasmbin.OpI32GtS || op == wasmbin.OpI32GeS) || !down && (op == wasmbin.OpI32LtS || op == wasmbin.OpI32LeS):
		return b.code(a.code(code.i32(0))).op(wasmbin.OpI32LtS, wasmbin.OpSelect), true
	case down && (op == wasmbin.OpI32GtU || op == wasmbin.OpI32GeU) || !down && (op == wasmbin.OpI32LtU || op == wasmbin.OpI32LeU):
		return b.code(a.code(code.i32(0))).op(wasmbin.OpI32LtU, wasmbin.OpSelect), true
	}
	return nil, false
}

// testSteps returns by how much the operands of the test change in each round. As the
// rounds are the same, so are all changes.
func (g *group) testSteps() (a, b uint32, ok bool) {
	first, ok1 := g.tests[0].comparison()
	second, ok2 := g.tests[1].comparison()
	if !ok1 || !ok2 {
		return 0, 0, false
	}
	a, ok1 = second.of[0].minus(first.of[0])
	b, ok2 = second.of[1].minus(first.of[1])
	return a, b, ok1 && ok2
}

// findBases finds addresses at constant distances.
func (g *group) findBases() bool {
	for i, a := range g.accesses {
		if !a.addr.known || a.offset > maxSpan {
			continue
		}
		k := slices.IndexFunc(g.bases, func(b base) bool { return slices.Equal(b.first.terms, a.addr.terms) })
		if k < 0 && len(g.bases) == maxBases {
			return false
		}
		if k < 0 {
			k = len(g.bases)
			g.bases = append(g.bases, base{first: a.addr.linear})
		}
		b := &g.bases[k]
		d := b.distance(&a)
		if d < -maxSpan || d > maxSpan {
			continue
		}
		if b.from = min(b.from, d); b.to < d+int64(a.end()) {
			b.to, b.last = d+int64(a.end()), i
		}
		b.accesses = append(b.accesses, i)
	}
	g.bases = slices.DeleteFunc(g.bases, func(b base) bool { return len(b.accesses) < 2 })
	g.baseOf, g.byAddr, g.byOp = map[int]*base{}, map[int]int{}, map[int]int{}
	for k := range g.bases {
		for _, i := range g.bases[k].accesses {
			a := &g.accesses[i]
			g.baseOf[i], g.byAddr[g.place(a.round, a.addr.at)], g.byOp[g.place(a.round, a.at)] = &g.bases[k], i, i
		}
	}
	// Half of the checks, or some of them and all tests but one.
	return 2*(len(g.baseOf)-len(g.bases)) >= len(g.accesses) || g.rounds > 1 && 3*len(g.baseOf) >= len(g.accesses)
}

func (b *base) distance(a *access) int64 { return int64(int32(a.addr.n - b.first.n)) }

// touch sets the local and makes sure that all addresses are in the memory.
func (g *group) touch(b *base, code asm) asm {
	low, _ := b.first.plus(linear{n: uint32(b.from)}, 1)
	load, size := byte(wasmbin.OpI32Load8U), int64(1)
	if b.to-b.from >= 4 {
		load, size = wasmbin.OpI32Load, 4
	}
	code = low.code(code).idx(wasmbin.OpLocalTee, b.local)
	if g.l.leaves() {
		code = leaveOutside(code, b.to-b.from).idx(wasmbin.OpLocalGet, b.local)
	}
	g.note(code, &g.l.code[g.accesses[b.last].at])
	code = code.op(load, 0)
	return asm(wasmbin.AppendU32(code, uint32(b.to-b.from-size))).op(wasmbin.OpDrop)
}

// staysAligned reports whether what has to be aligned is so for the next group, too.
func (g *group) staysAligned() bool {
	for local, mask := range g.aligned {
		v := g.local(local)
		if n, ok := v.minus(linear{terms: []term{{local, 1}}}); !v.known || !ok || n&mask != 0 {
			return false
		}
	}
	return true
}

// guards returns the beginning of a block for what must be true before the loop.
func (g *group) guards() (code asm) {
	n := 0
	and := func() {
		if n++; n > 1 {
			code = code.op(wasmbin.OpI32And)
		}
	}
	for _, local := range slices.Sorted(maps.Keys(g.assumed)) {
		code = code.idx(wasmbin.OpLocalGet, local).i32(int32(g.assumed[local])).op(wasmbin.OpI32Eq)
		and()
	}
	for _, local := range slices.Sorted(maps.Keys(g.aligned)) {
		code = code.idx(wasmbin.OpLocalGet, local).i32(int32(g.aligned[local])).op(wasmbin.OpI32And, wasmbin.OpI32Eqz)
		and()
	}
	if n == 0 {
		return code.void(wasmbin.OpBlock)
	}
	return code.void(wasmbin.OpIf)
}

// pushes reports whether an instruction only pushes a local or a constant.
func pushes(in *wasmbin.Instr) bool {
	return in.Op == wasmbin.OpLocalGet || in.Op == wasmbin.OpI32Const
}

// skipTest leaves out the test if it is of locals and constants.
func (g *group) skipTest() {
	g.skip = make([]bool, len(g.l.code))
	at := g.l.test
	for at > 0 && g.l.code[at-1].Op == wasmbin.OpI32Eqz {
		at--
	}
	switch c := g.l.code[:at]; {
	case at > 2 && c[at-1].Op >= wasmbin.OpI32Eq && c[at-1].Op <= wasmbin.OpI32GeU && pushes(&c[at-2]) && pushes(&c[at-3]):
		at -= 3
	case at > 0 && pushes(&c[at-1]):
		at--
	default:
		return
	}
	for ; at <= g.l.test; at++ {
		g.skip[at] = true
	}
}

// findMoved finds the locals that are read only for addresses and to move them:
// p, n, add, set p.
func (g *group) findMoved() {
	sets, at, reads := map[uint32]int{}, map[uint32]int{}, map[uint32]int{}
	for i := range g.l.code {
		switch in := &g.l.code[i]; {
		case setsLocal(in):
			sets[in.A], at[in.A] = sets[in.A]+1, i
		case in.Op == wasmbin.OpLocalGet && !g.skip[i] && !g.isAddress(i):
			reads[in.A]++
		}
	}
	for local, i := range at {
		c := g.l.code
		if sets[local] == 1 && reads[local] == 1 && c[i].Op == wasmbin.OpLocalSet && i > 2 && pushes(&c[i-2]) && pushes(&c[i-3]) &&
			(c[i-1].Op == wasmbin.OpI32Add || c[i-1].Op == wasmbin.OpI32Sub) && g.allMove(i) &&
			(c[i-3].Op == wasmbin.OpLocalGet && c[i-3].A == local || c[i-2].Op == wasmbin.OpLocalGet && c[i-2].A == local) {
			g.moved = append(g.moved, local)
			for j := i - 3; j <= i; j++ {
				g.skip[j] = true
			}
		}
	}
	slices.Sort(g.moved)
}

// isAddress reports whether an instruction pushes an address of a base in all rounds.
func (g *group) isAddress(i int) bool {
	for round := range g.rounds {
		if _, ok := g.byAddr[g.place(round, i)]; !ok {
			return false
		}
	}
	return true
}

// allMove reports whether a local is set to itself plus a constant in all rounds.
func (g *group) allMove(i int) bool {
	for round := range g.rounds {
		if !g.moves[g.place(round, i)] {
			return false
		}
	}
	return true
}

// own returns the next local of ours.
func (g *group) own() uint32 {
	g.locals++
	return g.locals - 1
}

// instr appends an instruction of a round.
func (g *group) instr(code asm, round, i int) asm {
	in, place := &g.l.code[i], g.place(round, i)
	g.note(code, in)
	address, isAddress := g.byAddr[place]
	if isAddress {
		b := g.baseOf[address]
		if b.local == 0 {
			b.local = g.own()
		}
		if in.Op == wasmbin.OpLocalGet {
			return code.idx(wasmbin.OpLocalGet, b.local)
		}
	}
	switch {
	case g.skip[i]:
	case i == g.l.test:
		code = code.op(wasmbin.OpDrop)
	case g.l.branches(i):
		code = g.leave(code, round, i)
	case g.moves[place]:
		// A sum that starts with the group makes the ones before it superfluous.
		if g.copies[in.A] == 0 {
			g.copies[in.A] = g.own()
		}
		code = code.op(wasmbin.OpDrop).idx(wasmbin.OpLocalGet, g.copies[in.A]).i32(int32(g.sets[place].n)).op(wasmbin.OpI32Add).idx(in.Op, in.A)
	case in.Op == wasmbin.OpGlobalGet:
		code = code.idx(in.Op, g.c.r.globals[in.A])
	default:
		if a, ok := g.byOp[place]; ok {
			code = g.access(code, in, a)
			break
		}
		code = append(code, g.c.b[in.Start:in.End]...)
	}
	if isAddress {
		code = code.op(wasmbin.OpDrop).idx(wasmbin.OpLocalGet, g.baseOf[address].local)
	}
	return code
}

// note notes which instruction of the loop what is appended next is from.
func (g *group) note(code asm, in *wasmbin.Instr) {
	if g.c.r.o.Places && sizes[in.Op] != 0 {
		g.places = append(g.places, place{at: uint32(len(code)), of: uint32(in.Start)})
	}
}

// access appends a load or store relative to its base.
func (g *group) access(code asm, in *wasmbin.Instr, i int) asm {
	a, b := &g.accesses[i], g.baseOf[i]
	align := wasmbin.NewReader(g.c.b, in.Imm, in.End, "code").U32()
	return code.idx(in.Op, align).u32(uint32(b.distance(a) - b.from + int64(a.offset)))
}
