package relayout

// foldLoads lets comparisons and arithmetic read memory themselves, where a load is for nobody
// else. It is called with the liveness of removeDead, and leaves the loads to compact.
func (f *function) foldLoads() {
	for k := range f.blocks {
		b := &f.blocks[k]
		live := f.liveAfter(b)
		for n := b.begin; n < b.end; n++ {
			if load := &f.insts[n]; load.op == opLoad && load.base < none && load.prefix == 0 && !load.gone {
				f.foldLoad(n, b.end, live)
			}
		}
	}
}

// foldLoad does so with a load at n of a block that ends at end.
func (f *function) foldLoad(n, end int32, live set) {
	const near = 12 // the load is that much later
	load := &f.insts[n]
	for m := n + 1; m < min(n+near, end); m++ {
		i := &f.insts[m]
		if i.gone {
			continue
		}
		if f.reads(i).has(load.reg) {
			if now, ok := loaded(load, i); ok && f.deadFrom(m+1, end, live, bit(load.reg)) {
				now.size = uint8(len(now.append(f.laid.code[:0])))
				*i, load.gone = now, true
			}
			return
		}
		if i.changesMemory() || i.writes&(load.reads|load.writes) != 0 || i.kind != plain && (i.kind != branch || i.target >= 0) {
			return
		}
	}
}

// changesMemory reports whether an instruction writes memory, or lets others write.
func (i *inst) changesMemory() bool {
	const fence = 0x0FAE
	return i.stores || i.op == opPush || i.op == fence || i.kind == call || i.kind == callAddress
}

// loaded returns the instruction that reads memory, of a load and one that reads its register.
func loaded(load, i *inst) (now inst, ok bool) {
	const cmp = 0x39
	now = *i
	if i.kind != plain || i.prefix != 0 || i.mem() || i.made || i.wide && !load.wide || i.reg == i.rm {
		return now, false
	}
	switch {
	case i.op == cmp && i.rm == load.reg:
	case i.reg != load.reg:
		return now, false
	case i.op == cmp, i.op == opAdd, i.op == 0x09, i.op == 0x21, i.op == 0x29, i.op == opXor:
		now.op, now.reg = i.op|2, i.rm // with the operands exchanged
	default:
		return now, false
	}
	now.made, now.now, now.rm = true, 0, none
	now.base, now.idx, now.scale, now.disp = load.base, load.idx, load.scale, load.disp
	now.reads = i.reads&^bit(load.reg) | load.reads
	return now, true
}
