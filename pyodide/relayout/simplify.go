package relayout

// simplify lets branches lead where the jumps at their targets lead, turns those
// around a jump, and removes jumps to what follows and what is never reached.
func (f *function) simplify() {
	for {
		for n := range f.insts {
			if i := &f.insts[n]; i.kind == jump || i.kind == branch {
				i.target = f.thread(i.target)
			}
		}
		for _, t := range f.tables {
			for k := range t {
				if to := f.thread(t[k]); to >= 0 {
					t[k] = to
				}
			}
		}
		f.findTargets()
		if f.sweep(); !f.compact() {
			return
		}
	}
}

// thread follows jumps to jumps.
func (f *function) thread(t int32) int32 {
	const most = 16 // they may go in a circle
	for range most {
		if t < 0 || f.insts[t].kind != jump {
			break
		}
		t = f.insts[t].target
	}
	return t
}

// sweep marks what can go, and turns branches.
func (f *function) sweep() {
	reached := true
	for n := range int32(len(f.insts)) {
		i := &f.insts[n]
		reached = reached || f.leads[n]
		if i.gone || !reached {
			i.gone = true
			continue
		}
		switch {
		case (i.kind == jump || i.kind == branch) && i.target == n+1:
			i.gone = true
			continue
		case i.kind == branch && i.target == n+2 && f.insts[n+1].kind == jump && !f.leads[n+1]:
			i.cond ^= 1
			i.target = f.insts[n+1].target
			f.insts[n+1].gone = true
			continue // what follows is reached by not branching
		}
		reached = !i.kind.leaves()
	}
}
