package relayout

// values is what is known of the registers at a point: which have equal values, and of which
// the upper half is 0.
type values struct {
	reached bool
	short   set       // the upper half is 0
	same    [none]reg // one of the registers with the same 64 bits, the same for all of them
}

// unknownValues is what is known at a function's entry.
func unknownValues() (v values) {
	for r := range none {
		v.same[r] = r
	}
	v.reached = true
	return v
}

// meet returns what is known where two paths meet.
func (v values) meet(t values) values {
	if !v.reached {
		return t
	}
	v.short &= t.short
	old := v.same
	for r := range none {
		if was := old[r]; t.same[r] == t.same[was] {
			continue
		}
		v.same[r] = r
		for s := range r {
			if old[s] == old[r] && t.same[s] == t.same[r] {
				v.same[r] = v.same[s]
				break
			}
		}
	}
	return v
}

// step changes the values to those behind the instruction.
func (v *values) step(i *inst) {
	switch to, from, ok := v.copied(i); {
	case i.kind == call || i.kind == callAddress:
		v.forget(callerSaved)
	case !ok:
		v.forget(i.writes)
		v.short |= shortens(i)
	case v.same[to] != v.same[from]:
		v.forget(bit(to))
		v.same[to] = v.same[from]
		if v.short.has(from) {
			v.short |= bit(to)
		}
	}
}

// copied returns the registers of a move that copies all 64 bits: of 32, it clears the upper half.
func (v *values) copied(i *inst) (to, from reg, ok bool) {
	to, from, ok = i.moves()
	return to, from, ok && (i.wide || v.short.has(from)) && (bit(to)|bit(from))&frame == 0
}

// forget forgets all about registers that are written.
func (v *values) forget(s set) {
	v.short &^= s
	old := v.same
	for r := range none {
		switch was := old[r]; {
		case s.has(r):
			v.same[r] = r
		case s.has(was): // the first of the others stands for them
			v.same[r] = r
			for o := range r {
				if old[o] == was && !s.has(o) {
					v.same[r] = o
					break
				}
			}
		}
	}
}

// shortens returns the register of which the instruction surely clears the upper half: that of
// a result of 32 bits.
func shortens(i *inst) set {
	if i.kind != plain || i.wide || i.prefix != 0 {
		return 0
	}
	switch i.op {
	case opAdd, 0x03, 0x09, 0x0B, 0x21, 0x23, 0x29, 0x2B, opXor, 0x33, opImm8, opImm32, opShiftImm, 0x69, 0x6B, 0x63, opLoad, opStore,
		opLea, opMovImm, 0xC7, 0x0FAF, 0x0FB6, 0x0FB7, 0x0FBE, 0x0FBF:
		return i.writes & i.kills &^ flags
	}
	return 0
}

// shareValues lets instructions read the registers that copies are of, and removes copies of
// what is there already.
func (f *function) shareValues() {
	f.makeBlocks()
	f.blocks[0].values = unknownValues()
	f.work = append(f.work[:0], 0)
	for len(f.work) > 0 {
		b := &f.blocks[f.work[len(f.work)-1]]
		f.work = f.work[:len(f.work)-1]
		b.queued = false
		v := b.values
		for n := b.begin; n < b.end; n++ {
			v.step(&f.insts[n])
		}
		f.successors(b, func(to *block) {
			met := to.values.meet(v)
			if met != to.values && !to.queued {
				to.queued = true
				f.work = append(f.work, f.index[to.begin])
			}
			to.values = met
		})
	}
	for k := range f.blocks {
		b := &f.blocks[k]
		v := b.values
		if !v.reached {
			continue
		}
		for n := b.begin; n < b.end; n++ {
			i := &f.insts[n]
			to, from, ok := v.copied(i)
			i.gone = ok && v.same[to] == v.same[from]
			was := *i
			f.readOldest(i, &v)
			v.step(&was)
		}
	}
	f.compact()
}

// readOldest lets an instruction read the registers that copies are of.
func (f *function) readOldest(i *inst, v *values) {
	if i.gone || i.kind != plain || i.base == rip {
		return
	}
	switch i.op {
	case opPush, 0x86, 0x87, 0x0FB0, 0x0FB1, 0x0FC0, 0x0FC1: // in the opcode, or with lock
		return
	}
	for _, r := range [...]*reg{&i.reg, &i.rm, &i.base, &i.idx} {
		if *r >= none || i.writes.has(*r) || v.same[*r] == *r {
			continue
		}
		i.reads &^= bit(*r)
		*r = v.same[*r]
		i.now = 1
	}
	if i.now > 0 {
		i.reads |= bit(i.base) | bit(i.idx) | (bit(i.reg)|bit(i.rm))&^i.writes
		f.measure(i)
	}
}
