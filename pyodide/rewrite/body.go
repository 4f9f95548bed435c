package rewrite

import "coderunner/pyodide/wasmbin"

// code returns the new code section without its size.
func (r *rewriter) code() ([]byte, error) {
	n := 0
	for i := range r.bodies {
		n += r.bodies[i].at.End - r.bodies[i].at.Start
	}
	c := &coder{r: r}
	if r.fuel > 0 {
		c.check = r.check()
	}
	out := make([]byte, 0, n+n/4)
	out = wasmbin.AppendU32(out, uint32(len(r.bodies)+len(r.helpers)))
	for i := range r.bodies {
		var err error
		if out, err = c.function(out, i); err != nil {
			return nil, err
		}
	}
	for _, h := range r.helpers {
		out = wasmbin.AppendU32(out, uint32(len(h.code)))
		out = append(out, h.code...)
	}
	return out, nil
}

// function appends the new body of a defined function to out.
func (c *coder) function(out []byte, i int) ([]byte, error) {
	b := &c.r.bodies[i]
	t := c.r.m.FuncType(uint32(i + c.r.m.ImportedFuncs))
	c.c, c.b, c.eh, c.wide = c.r.m.CodeOf(b.b, b.at, t), b.b, b.eh, b.labels >= manyLabels
	c.buf, c.from = c.buf[:0], b.at.Code
	c.places, c.sources = c.places[:0], b.places
	c.frames = append(c.frames[:0], frame{unwind: 1, values: len(t.Results) > 0})
	c.labels, c.next, c.nLocals = 1, 0, 0
	c.meet()
	c.locals = uint32(len(t.Params) + b.at.Locals)
	if b.tries {
		if err := c.findTries(c.r.m.CodeOf(b.b, b.at, t)); err != nil {
			return nil, err
		}
	}
	if err := c.findSpans(c.r.m.CodeOf(b.b, b.at, t)); err != nil {
		return nil, err
	}
	if err := c.findCuts(b, t); err != nil {
		return nil, err
	}
	if c.eh {
		c.buf = append(c.buf, wasmbin.OpBlock, 0x40)
		c.labels++
		c.unwinds = zeros(c.unwinds[:0], t.Results)
	}
	if err := c.instructions(); err != nil {
		return nil, err
	}
	head := b.b[b.at.Start:b.at.Code]
	if c.nLocals > 0 {
		head = c.moreLocals(b)
	}
	out = wasmbin.AppendU32(out, uint32(len(head)+len(c.buf)))
	out = append(out, head...)
	c.keepPlaces(len(out))
	return append(out, c.buf...), nil
}

// moreLocals returns local declarations with ours at their end.
func (c *coder) moreLocals(b *body) []byte {
	r := wasmbin.NewReader(b.b, b.at.Start, b.at.Code, "code")
	head := wasmbin.AppendU32(nil, r.U32()+1)
	head = append(head, b.b[r.Pos():b.at.Code]...)
	return append(wasmbin.AppendU32(head, c.nLocals), byte(wasmbin.I32))
}

func (c *coder) instructions() error {
	var in, last wasmbin.Instr
	for c.c.Next(&in) {
		c.part(&in)
		switch in.Op {
		case wasmbin.OpBlock, wasmbin.OpIf:
			c.push(plainBlock)
			c.top().values = len(c.r.m.BlockType(in.A).Results) > 0
			if in.Op == wasmbin.OpIf {
				c.top().open = true
				c.turn(&in, &last)
			}
		case wasmbin.OpElse:
			c.elseOf(&in)
		case wasmbin.OpLocalGet, wasmbin.OpLocalSet, wasmbin.OpLocalTee:
			c.readLocal(&in)
		case wasmbin.OpLoop:
			c.loop(&in)
		case wasmbin.OpEnd:
			c.end(&in)
		case wasmbin.OpCall, wasmbin.OpCallIndirect:
			c.call(&in)
		case wasmbin.OpReturnCall, wasmbin.OpReturnCallIndirect:
			// A loop without a header.
			c.before(&in)
			c.buf = append(c.buf, c.check...)
		case wasmbin.OpBr, wasmbin.OpBrIf:
			if f := c.frameOf(in.A); f.body > 0 && in.Start == c.spans[f.span].back {
				c.repeat(&in, f)
				break
			}
			if in.Op == wasmbin.OpBrIf && c.brIf(&in, &last) {
				break
			}
			if l := c.rel(c.frameOf(in.A).out); l != in.A {
				c.replace(&in)
				c.buf = wasmbin.AppendOp(c.buf, in.Op, l)
			}
		case wasmbin.OpBrTable:
			c.brTable(&in)
		case wasmbin.OpGlobalGet, wasmbin.OpGlobalSet:
			if at, ok := c.r.got.offset(in.A); ok {
				c.readGOT(&in, at)
			} else if g := c.r.globals[in.A]; g != in.A {
				c.replace(&in)
				c.buf = wasmbin.AppendOp(c.buf, in.Op, g)
			}
		case wasmbin.PrefixMisc:
			if f, ok := c.r.bulkHelper(&in, &last); ok {
				c.r.stats.Bulk++
				c.replace(&in)
				c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpCall, f)
			}
		case wasmbin.OpTry, wasmbin.OpCatch, wasmbin.OpCatchAll, wasmbin.OpDelegate, wasmbin.OpThrow, wasmbin.OpRethrow:
			c.replace(&in)
			c.exception(&in)
		}
		last = in
	}
	return c.c.Err()
}

// call adds the test for an exception that comes out of a call.
func (c *coder) call(in *wasmbin.Instr) {
	c.r.stats.Calls++
	if in.Op == wasmbin.OpCall && !c.r.mayThrow[in.A] {
		return
	}
	c.r.stats.CheckedCalls++
	c.after(in)
	c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpGlobalGet, c.r.flag)
	c.branch(wasmbin.OpBrIf, c.top().unwind)
}

func (c *coder) brTable(in *wasmbin.Instr) {
	changed := false
	c.c.Labels(in, func(l uint32) { changed = changed || c.rel(c.frameOf(l).out) != l })
	if !changed {
		return
	}
	c.replace(in)
	c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpBrTable, in.A)
	c.c.Labels(in, func(l uint32) { c.buf = wasmbin.AppendU32(c.buf, c.rel(c.frameOf(l).out)) })
}

// end ends a block of the input.
func (c *coder) end(in *wasmbin.Instr) {
	f := *c.top()
	c.pop()
	c.meet()
	switch {
	case len(c.frames) == 0 && !c.eh:
		c.after(in)
	case len(c.frames) == 0:
		c.replace(in)
		c.buf = append(c.buf, wasmbin.OpReturn, wasmbin.OpEnd)
		c.buf = append(append(c.buf, c.unwinds...), wasmbin.OpEnd)
	case f.kind == tryHandler:
		c.replace(in)
		c.endHandler(&f)
	default:
		c.turned(in, &f)
		c.endIf(in, &f)
		c.labels--
		if f.rounds {
			c.after(in)
			c.close()
			if f.body > 0 {
				c.close()
			}
		}
	}
}
