package relayout

// block is a basic block. A branch to a stub does not end one.
type block struct {
	begin, end int32  // instructions
	state      state  // at the beginning
	values     values // at the beginning
	queued     bool

	use, kill set // what it reads before it kills it; what it kills
	live      set // at the beginning
}

// findTargets notes which instructions are jumped to.
func (f *function) findTargets() {
	f.leads = resize(f.leads, len(f.insts)+1)
	clear(f.leads)
	for n := range f.insts {
		if i := &f.insts[n]; (i.kind == branch || i.kind == jump) && i.target >= 0 {
			f.leads[i.target] = true
		}
	}
	for _, t := range f.tables {
		for _, n := range t {
			f.leads[n] = true
		}
	}
}

// makeBlocks splits the function into basic blocks.
func (f *function) makeBlocks() {
	f.findTargets()
	f.blocks = f.blocks[:0]
	f.index = resize(f.index, len(f.insts)+1)
	begin := int32(0)
	for n := range int32(len(f.insts)) {
		i := &f.insts[n]
		if n+1 == int32(len(f.insts)) || f.leads[n+1] || i.kind.leaves() || i.kind == branch && i.target >= 0 {
			f.index[begin] = int32(len(f.blocks)) // blocks by their first instruction
			f.blocks = append(f.blocks, block{begin: begin, end: n + 1})
			begin = n + 1
		}
	}
}

// successors calls do with each block that may follow b.
func (f *function) successors(b *block, do func(*block)) {
	switch last := &f.insts[b.end-1]; last.kind {
	case jump, branch:
		if last.target >= 0 {
			do(&f.blocks[f.index[last.target]])
		}
		if last.kind == jump {
			return
		}
	case table:
		for _, n := range f.tables[last.target] {
			do(&f.blocks[f.index[n]])
		}
		return
	default:
		if last.kind.leaves() {
			return
		}
	}
	do(&f.blocks[f.index[b.end]])
}
