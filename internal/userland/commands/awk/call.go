package awk

// call calls a function of the program. Arrays are passed by reference.
func (r *run) call(n *node) (value, error) {
	if len(n.list) > len(n.fn.params) {
		r.c.Errorf("%swarning: function `%s' called with more arguments than declared", r.where(), n.fn.name)
		for _, extra := range n.list[len(n.fn.params):] {
			if err := r.pass(&cell{}, extra); err != nil {
				return value{}, err
			}
		}
	}
	if err := r.tick(); err != nil {
		return value{}, err
	}
	cells := int64(len(n.fn.params) * cellCost)
	if err := r.hold(cells); err != nil {
		return value{}, err
	}
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
		if err := r.pass(frame[i], n.list[i]); err != nil {
			return value{}, err
		}
	}
	v, err := r.invoke(n.fn, frame)
	if err == nil {
		err = r.room(len(v.s))
	}
	return v, err
}

// cellCost is what a variable takes beside its value.
const cellCost = 112

// end gives back what a parameter holds.
func (m *memory) end(c *cell) {
	m.hold(-int64(c.charged))
	switch {
	case c.array == nil:
	case c.own:
		m.drop(c.array)
	case c.passed:
		c.array.users--
	}
}

// pass sets a parameter to an argument.
func (r *run) pass(to *cell, arg *node) error {
	if arg.op == "var" && (arg.local || arg.slot != varNF) {
		c := r.cell(arg)
		if c.array != nil {
			to.array, to.passed = c.array, true
			c.array.users++
		} else if c.v.kind == unset {
			to.from = c
		}
		return r.set(&to.v, &to.charged, c.v)
	}
	if arg.op == "index" {
		e, _, err := r.entry(arg)
		if err != nil {
			return err
		}
		if to.array, to.elem = e.sub, e; e.sub != nil {
			to.passed = true
			e.sub.users++
		}
		return r.set(&to.v, &to.charged, e.v)
	}
	v, err := r.eval(arg)
	if err != nil {
		return err
	}
	return r.set(&to.v, &to.charged, v)
}

// invoke runs a function's body with its parameters.
func (r *run) invoke(f *function, frame []*cell) (value, error) {
	saved, place := r.frame, r.place
	r.frame, r.ret = frame, value{}
	err := r.block(f.body)
	r.frame = saved
	if err == nil || err == errReturn {
		r.place = place
	}
	v := r.ret
	r.ret = value{}
	if err == errReturn {
		err = nil
	}
	return v, err
}
