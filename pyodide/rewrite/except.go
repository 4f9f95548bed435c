package rewrite

import "coderunner/pyodide/wasmbin"

// Lowered exceptions:
//
//	throw t            payload → __eh_val, number of t → __eh_flag, br unwind
//	call f             call f, __eh_flag, br_if unwind
//	try bt body        block bt
//	                     block dispatch body, br outer end
//	catch t handler      __eh_flag == t, if, 0 → __eh_flag, payload, handler, br outer end
//	catch_all handler    0 → __eh_flag, handler
//	end                end
//
// where unwind is the dispatch block of the innermost try whose body is being
// executed, or the block around the function's body. A delegating try is a
// plain block in which unwind is another's. A clause that some rethrow refers
// to saves the exception in two locals, by nesting of handlers.

// findTries finds out how each try ends and which clauses are rethrown.
func (c *coder) findTries(code *wasmbin.Code) error {
	c.tries = c.tries[:0]
	var in wasmbin.Instr
	stack := []frame{{}}
	for code.Next(&in) {
		top := &stack[len(stack)-1]
		switch in.Op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf:
			stack = append(stack, frame{})
		case wasmbin.OpTry:
			stack = append(stack, frame{kind: tryBody, try: int32(len(c.tries))})
			c.tries = append(c.tries, try{})
		case wasmbin.OpCatch, wasmbin.OpCatchAll:
			t := c.tries
			switch n := 0; {
			case top.kind == plainBlock:
				code.Fail(in.Start, "catch outside of try")
			default:
				n = len(t[top.try].clauses)
				if n > 0 && t[top.try].clauses[n-1].all {
					code.Fail(in.Start, "catch after catch_all")
				}
				top.kind, top.clause = tryHandler, int32(n)
				t[top.try].clauses = append(t[top.try].clauses, clause{all: in.Op == wasmbin.OpCatchAll, tag: in.A})
			}
		case wasmbin.OpRethrow:
			f := &stack[len(stack)-1-int(in.A)]
			if f.kind != tryHandler {
				code.Fail(in.Start, "rethrow outside of catch")
				break
			}
			c.tries[f.try].clauses[f.clause].rethrown = true
		case wasmbin.OpDelegate:
			if top.kind != tryBody {
				code.Fail(in.Start, "delegate outside of try")
				break
			}
			c.tries[top.try].delegate, c.tries[top.try].label = true, in.A
			stack = stack[:len(stack)-1]
		case wasmbin.OpEnd:
			stack = stack[:len(stack)-1]
		}
	}
	return code.Err()
}

func (c *coder) exception(in *wasmbin.Instr) {
	switch in.Op {
	case wasmbin.OpTry:
		c.beginTry(in)
	case wasmbin.OpCatch, wasmbin.OpCatchAll:
		c.beginHandler()
	case wasmbin.OpDelegate:
		c.pop()
		c.close()
	case wasmbin.OpThrow:
		c.r.stats.Throws++
		if c.r.hasPayload(in.A) {
			c.setGlobal(c.r.val)
		}
		c.setPending(c.r.tagIDs[in.A])
		c.branch(wasmbin.OpBr, c.top().unwind)
	case wasmbin.OpRethrow:
		c.rethrow(c.frameOf(in.A))
	}
}

func (c *coder) setGlobal(g uint32) { c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpGlobalSet, g) }
func (c *coder) getGlobal(g uint32) { c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpGlobalGet, g) }

func (c *coder) setPending(id int32) {
	c.buf = wasmbin.AppendI32Const(c.buf, id)
	c.setGlobal(c.r.flag)
}

// flagLocal and valueLocal are where a handler at the given depth keeps its
// exception.
func (c *coder) flagLocal(depth int32) uint32 {
	c.nLocals = max(c.nLocals, c.counter+2*uint32(depth)+2)
	return c.locals + c.counter + 2*uint32(depth)
}

func (c *coder) valueLocal(depth int32) uint32 { return c.flagLocal(depth) + 1 }

func (c *coder) beginTry(in *wasmbin.Instr) {
	c.r.stats.Tries++
	t := &c.tries[c.next]
	t.depth, t.outer = c.top().depth, c.labels
	unwind := c.top().unwind
	if t.delegate {
		unwind = c.frameOf(t.label).unwind
	}
	c.buf = append(append(c.buf, wasmbin.OpBlock), c.b[in.Imm:in.End]...)
	c.push(tryBody)
	c.top().values = len(c.r.m.BlockType(in.A).Results) > 0
	if len(t.clauses) > 0 {
		unwind = c.labels
		c.openDispatch(in.A)
	}
	c.top().try, c.top().unwind = c.next, unwind
	c.next++
}

// openDispatch opens the block that exceptions of a try's body leave by: it
// takes the try's parameters and has no results.
func (c *coder) openDispatch(blockType uint32) {
	c.buf = append(c.buf, wasmbin.OpBlock)
	if t := c.r.m.BlockType(blockType); len(t.Params) > 0 {
		c.buf = wasmbin.AppendS64(c.buf, int64(c.r.typeOf(wasmbin.FuncType{Params: t.Params})))
	} else {
		c.buf = append(c.buf, 0x40)
	}
	c.labels++
}

func (c *coder) beginHandler() {
	f := c.top()
	t := &c.tries[f.try]
	c.branch(wasmbin.OpBr, t.outer)
	c.close() // the dispatch block, or the if of the clause before
	f.kind, f.clause = tryHandler, t.at
	cl := t.clauses[t.at]
	t.at++
	f.unwind, f.depth = c.frames[len(c.frames)-2].unwind, t.depth+1
	if cl.all {
		if cl.rethrown {
			c.getGlobal(c.r.flag)
			c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpLocalSet, c.flagLocal(t.depth))
			c.getGlobal(c.r.val)
			c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpLocalSet, c.valueLocal(t.depth))
		}
		c.setPending(0)
		return
	}
	c.getGlobal(c.r.flag)
	c.buf = wasmbin.AppendI32Const(c.buf, c.r.tagIDs[cl.tag])
	c.buf = append(c.buf, wasmbin.OpI32Eq, wasmbin.OpIf, 0x40)
	c.labels++
	c.setPending(0)
	if c.r.hasPayload(cl.tag) {
		c.getGlobal(c.r.val)
		if cl.rethrown {
			c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpLocalTee, c.valueLocal(t.depth))
		}
	}
}

// endHandler ends a try with clauses, whose frame is popped already.
func (c *coder) endHandler(f *frame) {
	t := &c.tries[f.try]
	if !t.clauses[f.clause].all {
		c.branch(wasmbin.OpBr, t.outer)
		c.close()
		c.branch(wasmbin.OpBr, c.top().unwind) // no clause fits
	}
	c.close()
}

func (c *coder) rethrow(f *frame) {
	t := &c.tries[f.try]
	cl := t.clauses[f.clause]
	if cl.all || c.r.hasPayload(cl.tag) {
		c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpLocalGet, c.valueLocal(t.depth))
		c.setGlobal(c.r.val)
	}
	if cl.all {
		c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpLocalGet, c.flagLocal(t.depth))
		c.setGlobal(c.r.flag)
	} else {
		c.setPending(c.r.tagIDs[cl.tag])
	}
	c.branch(wasmbin.OpBr, c.top().unwind)
}
