package relayout

// state is what is known at a point: where rsp is, and where the execution context
// surely is.
type state struct {
	reached bool
	sp      int32 // rsp, relative to the function's entry
	regs    set   // registers that have the context
	slot    int32 // the slot that has it, as sp; 0: none
}

// entrySP is rsp behind the prologue, which has pushed rbp.
const entrySP = -8

// findContext finds where the execution context is at each exit, and turns the exit
// into a jump to a stub. It notes in returns and calls that the context is no
// result, and no argument but the first. It reports false if rsp, rbp or the frame
// are used otherwise than expected.
func (f *function) findContext() bool {
	f.makeBlocks()
	f.blocks[0].state = state{reached: true, sp: entrySP, regs: 1 << rax}
	f.work = append(f.work[:0], 0)
	ok := true
	for len(f.work) > 0 && ok {
		b := &f.blocks[f.work[len(f.work)-1]]
		f.work = f.work[:len(f.work)-1]
		b.queued = false
		s := b.state
		for n := b.begin; n < b.end && ok; n++ {
			ok = s.step(&f.insts[n])
		}
		f.successors(b, func(to *block) {
			t := to.state.meet(s)
			ok = ok && t.sp == s.sp
			if t != to.state && !to.queued {
				to.queued = true
				f.work = append(f.work, f.index[to.begin])
			}
			to.state = t
		})
	}
	if !ok {
		return false
	}
	for k := range f.blocks {
		b := &f.blocks[k]
		s := b.state
		for n := b.begin; n < b.end; n++ {
			i := &f.insts[n]
			f.useContext(i, s)
			s.step(i)
		}
	}
	return true
}

// useContext changes the instruction for what is known before it. In code that is
// never reached, nothing is.
func (f *function) useContext(i *inst, s state) {
	switch i.kind {
	case exit:
		p := place{reg: i.reg}
		if s.regs.has(i.reg) {
			p = s.keeper(i.reg)
		}
		i.kind, i.target, i.reads = jump, ^f.exitOf(stub{uint32(i.imm), p, f.source(i.at)}), bit(p.reg)
	case plain:
		i.gone = i.restoresStack() && s.sp == entrySP
	case ret:
		i.reads = calleeSaved | f.results&^s.regs
	case callAddress, tailAddress:
		i.reads |= arguments &^ (s.regs &^ (1 << rax))
	}
}

// keeper returns where a stub reads the context: the slot rather than a register,
// and one that calls keep rather than own, which may be a copy for the exit.
func (s *state) keeper(own reg) place {
	if s.slot != 0 {
		return place{none, s.slot - s.sp}
	}
	for _, among := range []set{calleeSaved, arguments} {
		for r := range none {
			if r != own && (s.regs & among).has(r) {
				return place{reg: r}
			}
		}
	}
	return place{reg: own}
}

// meet returns what is known where two paths meet, at which sp must be the same.
func (s state) meet(t state) state {
	if !s.reached {
		return t
	}
	s.regs &= t.regs
	if s.slot != t.slot {
		s.slot = 0
	}
	return s
}

// step changes the state to that behind the instruction. It reports false if that is
// not known.
func (s *state) step(i *inst) bool {
	if i.base == rsp || i.base == rbp {
		if !s.inFrame(i) {
			return false
		}
		switch at := s.sp + i.disp; {
		case i.stores && i.base == rsp:
			s.store(i, at)
		case i.op == opLoad && i.wide && at == s.slot && i.base == rsp && s.slot != 0:
			s.regs |= bit(i.reg)
			return true
		}
	}
	switch i.kind {
	case call, callAddress:
		s.regs &^= callerSaved
		return true
	case plain:
	default:
		return true
	}
	to, from, ok := i.copies()
	ok = ok && s.regs.has(from)
	s.regs &^= i.writes
	if ok {
		s.regs |= bit(to)
	}
	return s.moveStack(i)
}

// inFrame reports whether the memory operand is in the frame, or what the caller has
// in its: no address of the frame gets into a register, and none is computed.
func (s *state) inFrame(i *inst) bool {
	const entry = 16 // of rbp: behind the caller's and the return address
	return i.idx == none && i.op != opLea && (bit(i.reg)|bit(i.rm))&frame == 0 && i.writes&frame == 0 &&
		(i.base == rsp || i.disp >= entry)
}

// store notes a store in the frame.
func (s *state) store(i *inst, at int32) {
	if s.slot != 0 && at < s.slot+8 && s.slot < at+storeSize(i) {
		s.slot = 0
	}
	// A slot below rsp would not outlive a call.
	if i.op == opStore && i.wide && s.regs.has(i.reg) && i.disp >= 0 && at < entrySP {
		s.slot = at
	}
}

// storeSize bounds the bytes that a store writes.
func storeSize(i *inst) int32 {
	switch {
	case (i.op == opStore || i.op == opStoreImm) && i.wide:
		return 8
	case (i.op == opStore || i.op == opStoreImm) && i.prefix == 0, i.op == 0x0F11 && i.prefix == 0xF3:
		return 4
	case i.op == 0x0F11 && i.prefix == 0xF2:
		return 8
	}
	return 16
}

// restoresStack reports whether an instruction is a copy of rbp to rsp.
func (i *inst) restoresStack() bool { return i.op == opStore && i.rm == rsp && i.reg == rbp && i.wide }

// moveStack follows rsp. It reports false if rsp or rbp are used in another way.
func (s *state) moveStack(i *inst) bool {
	switch {
	case i.op == opPush && bit(i.reg)&frame == 0:
		s.sp -= 8
		if s.slot != 0 && s.slot < s.sp+8 {
			s.slot = 0
		}
	case i.op == opPop && i.reg != rsp:
		s.sp += 8
	case (i.op == opImm8 || i.op == opImm32) && i.rm == rsp && i.wide && (i.digit == 0 || i.digit == 5):
		n := i.imm
		if i.digit == 5 {
			n = -n
		}
		s.sp += n
	case i.restoresStack():
		s.sp = entrySP
	default:
		return i.base == rsp || i.base == rbp || (i.reads|i.writes)&frame == 0
	}
	if s.slot < s.sp {
		s.slot = 0
	}
	return true
}
