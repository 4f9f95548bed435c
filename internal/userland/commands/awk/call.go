package awk

// call calls a function of the program. Arrays are passed by reference.
func (r *run) call(n *node) value {
	if len(n.list) > len(n.fn.params) {
		r.c.Errorf("%swarning: function `%s' called with more arguments than declared", r.where(), n.fn.name)
		for _, extra := range n.list[len(n.fn.params):] {
			r.pass(&cell{}, extra)
		}
	}
	r.tick()
	cells := int64(len(n.fn.params) * cellCost)
	r.hold(cells)
	frame := make([]*cell, len(n.fn.params))
	for i := range frame {
		frame[i] = &cell{}
	}
	defer func() {
		for _, c := range frame {
			r.end(c)
		}
		r.hold(-cells)
	}()
	for i := range min(len(frame), len(n.list)) {
		r.pass(frame[i], n.list[i])
	}
	v := r.invoke(n.fn, frame)
	r.room(len(v.s))
	return v
}

// cellCost is what a variable takes beside its value.
const cellCost = 112

// end gives back what a parameter holds.
func (m *memory) end(c *cell) {
	m.hold(-int64(c.charged))
	switch {
	case c.passed:
		c.array.users--
	case c.own && c.array.users == 0:
		m.empty(c.array)
	}
}

// pass sets a parameter to an argument.
func (r *run) pass(to *cell, arg *node) {
	var v value
	switch {
	case arg.op == "var" && (arg.local || arg.slot != varNF):
		c := r.cell(arg)
		if c.array != nil {
			to.array, to.passed = c.array, true
			c.array.users++
		} else if c.v.kind == unset {
			to.from = c
		}
		v = c.v
	case arg.op == "index":
		e, _ := r.entry(arg)
		if to.array, to.elem = e.sub, e; e.sub != nil {
			to.passed = true
			e.sub.users++
		}
		v = e.v
	default:
		v = r.eval(arg)
	}
	r.set(&to.v, &to.charged, v)
}

// invoke runs a function's body with its parameters.
func (r *run) invoke(f *function, frame []*cell) value {
	saved, place := r.frame, r.place
	r.frame, r.ret = frame, value{}
	went := r.block(f.body)
	r.frame = saved
	if went != onward && went != returned {
		r.c.Check(left{went})
	}
	r.place = place
	v := r.ret
	r.ret = value{}
	return v
}
