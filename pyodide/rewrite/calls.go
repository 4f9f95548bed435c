package rewrite

import "coderunner/pyodide/wasmbin"

// Ways around a call.
//
// Where paths meet, wazero's register allocator wants every value where it was
// at the end of the path that it saw first, and it sees them in the order of the
// code. After a call values are in memory. If the path through a call comes
// first, the other one stores and loads all that lives on, though nothing
// happens on it; if it comes second, only the path through the call does.
//
//	x, if call… end                 x, eqz, if else call… end
//	x, if call… else … end          x, eqz, if … else call… end
//	block x, br_if 0, call… end     block x, if br 1 else end, call… end
//
// Only short parts are moved: a long one is hardly a detour.

// maxDetour is the largest part with a call, in bytes of code.
const maxDetour = 128

// maxMoved is the largest part, in bytes, that is swapped with one: it bounds the
// time for deep nesting.
const maxMoved = 4096

// detour reports whether the part is short and has a call after position at.
func (p *part) detour(at int) bool { return p.call > at && p.end-at <= maxDetour }

// at returns the part that contains a position.
func (s *span) at(pos int) *part {
	if pos < s.then.end {
		return &s.then
	}
	return &s.rest
}

// leaves reports whether an instruction never falls through.
func leaves(op byte) bool {
	switch op {
	case wasmbin.OpBr, wasmbin.OpBrTable, wasmbin.OpReturn, wasmbin.OpUnreachable, wasmbin.OpThrow, wasmbin.OpRethrow,
		wasmbin.OpReturnCall, wasmbin.OpReturnCallIndirect:
		return true
	}
	return false
}

// findSpans makes the spans of all blocks, in the order in which they begin. The
// first, the function's own, stays empty.
func (c *coder) findSpans(code *wasmbin.Code) error {
	c.spans, c.nextSpan, c.counter = append(c.spans[:0], span{}), 1, 0
	open := append(c.openSpans[:0], 0)
	var in wasmbin.Instr
	var before, last wasmbin.Instr
	afterIf := 0
	for code.Next(&in) {
		s := &c.spans[open[len(open)-1]]
		switch in.Op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf, wasmbin.OpTry:
			open = append(open, int32(len(c.spans)))
			c.spans = append(c.spans, span{op: in.Op, busy: in.Op == wasmbin.OpTry})
		case wasmbin.OpElse:
			s.then = part{s.rest.call, in.Start, leaves(last.Op)}
			s.rest = part{}
		case wasmbin.OpEnd, wasmbin.OpDelegate:
			s.rest.end, s.rest.leaves = in.Start, leaves(last.Op)
			s.busy = s.busy || s.then.call > 0 || s.rest.call > 0
			if s.op == wasmbin.OpLoop {
				if !s.busy {
					c.counter = 1
				}
				if s.backs > 1 || last.Start != s.back && !(afterIf == in.Start && before.Op == wasmbin.OpBr && before.Start == s.back) {
					s.back = 0
				}
			} else if s.op == wasmbin.OpIf && s.then.end == 0 {
				afterIf = in.End
			}
			if open = open[:len(open)-1]; len(open) > 1 {
				outer := &c.spans[open[len(open)-1]]
				outer.rest.call = max(outer.rest.call, s.then.call, s.rest.call)
				outer.busy = outer.busy || s.busy || s.op == wasmbin.OpLoop
			}
		case wasmbin.OpCall, wasmbin.OpCallIndirect:
			if len(open) > 1 {
				s.rest.call = in.Start
			}
		case wasmbin.OpBr, wasmbin.OpBrIf:
			c.back(open, in.A, in.Start)
		case wasmbin.OpBrTable:
			code.Labels(&in, func(l uint32) { c.back(open, l, -1) })
		case wasmbin.OpMemoryGrow, wasmbin.PrefixMisc, wasmbin.OpReturnCall, wasmbin.OpReturnCallIndirect:
			s.busy = s.busy || in.Op != wasmbin.PrefixMisc || in.Sub >= wasmbin.MiscMemoryInit
		}
		before, last = last, in
	}
	c.openSpans = open
	return code.Err()
}

// turn begins an if whose parts will be swapped.
func (c *coder) turn(in, last *wasmbin.Instr) {
	if c.r.o.Skip&PassCalls != 0 {
		return
	}
	f := c.top()
	s := &c.spans[f.span]
	first, second := &s.rest, &part{}
	if s.then.end > 0 {
		first, second = &s.then, &s.rest
	}
	if !first.detour(in.End) || first.leaves || second.call > 0 || second.leaves || second.end-first.end > maxMoved {
		return
	}
	c.r.stats.Detours++
	if code, ok := negated(last.Op); ok && last.End == in.Start && c.from <= last.Start {
		c.replace(last)
		c.buf = append(c.buf, code...)
		c.from = in.Start
	} else {
		c.before(in)
		c.buf = append(c.buf, wasmbin.OpI32Eqz)
	}
	c.after(in)
	f.then = len(c.buf)
	if s.then.end == 0 {
		f.open = false
		c.buf = append(c.buf, wasmbin.OpElse)
		c.meet()
	}
}

// elseOf begins the second part of an if.
func (c *coder) elseOf(in *wasmbin.Instr) {
	f := c.top()
	f.open = false
	c.meet()
	if f.then > 0 {
		c.replace(in)
		f.other = len(c.buf)
	}
}

// turned ends an if with an else that turn began.
func (c *coder) turned(in *wasmbin.Instr, f *frame) {
	if f.other == 0 {
		return
	}
	c.before(in)
	c.places.swapped(f.then, f.other, len(c.buf), 1)
	then := append([]byte{wasmbin.OpElse}, c.buf[f.then:f.other]...)
	n := copy(c.buf[f.then:], c.buf[f.other:])
	c.buf = append(c.buf[:f.then+n], then...)
}

// skips reports whether a branch forward goes around a call.
func (c *coder) skips(in *wasmbin.Instr, f *frame) bool {
	return c.r.o.Skip&PassCalls == 0 && !f.loop && c.spans[f.span].at(in.Start).detour(in.End)
}

// opposite has for each integer comparison of two operands, counted from eq,
// the one that holds when it does not:
// eq, ne, lt_s, lt_u, gt_s, gt_u, le_s, le_u, ge_s, ge_u.
var opposite = [...]byte{1, 0, 8, 9, 6, 7, 4, 5, 2, 3}

// negated returns code to replace a comparison: it pushes the negation, or a value
// that is 0 when the negation is.
func negated(op byte) (code []byte, ok bool) {
	switch {
	case op == wasmbin.OpI32Eqz: // its operand
		return nil, true
	case op >= wasmbin.OpI32Eq && op <= wasmbin.OpI32GeU:
		return []byte{wasmbin.OpI32Eq + opposite[op-wasmbin.OpI32Eq]}, true
	case op == wasmbin.OpI64Eqz:
		return []byte{wasmbin.OpI64Const, 0, wasmbin.OpI64Ne}, true
	case op >= wasmbin.OpI64Eq && op <= wasmbin.OpI64GeU:
		return []byte{wasmbin.OpI64Eq + opposite[op-wasmbin.OpI64Eq]}, true
	}
	return nil, false
}
