package awk

import "fmt"

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
	if r.depth++; r.depth > calls {
		return value{}, fmt.Errorf("function %s: calls are nested more than %d deep", n.fn.name, calls)
	}
	defer func() { r.depth-- }()
	if err := r.tick(); err != nil {
		return value{}, err
	}
	frame := make([]*cell, len(n.fn.params))
	for i := range frame {
		frame[i] = &cell{}
		if i >= len(n.list) {
			continue
		}
		if err := r.pass(frame[i], n.list[i]); err != nil {
			return value{}, err
		}
	}
	return r.invoke(n.fn, frame)
}

// pass sets a parameter to an argument.
func (r *run) pass(to *cell, arg *node) error {
	if arg.op == "var" && (arg.local || arg.slot != varNF) {
		c := r.cell(arg)
		if c.array != nil {
			to.array = c.array
		} else if to.v = c.v; c.v.kind == unset {
			to.from = c
		}
		return nil
	}
	if arg.op == "index" {
		e, _, err := r.entry(arg)
		if err == nil {
			to.array, to.v, to.elem = e.sub, e.v, e
		}
		return err
	}
	v, err := r.eval(arg)
	to.v = v
	return err
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
