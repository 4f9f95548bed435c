package rewrite

import (
	"slices"

	"coderunner/pyodide/wasmbin"
)

// A loop without calls pays for paid rounds at once and makes as many at most: it
// passes its header headers times, and each time its body is there maxRepeats
// times at most.
const (
	headers    = 32
	maxRepeats = 4
	paid       = headers * maxRepeats
)

// loop begins a loop: with an interrupt check, or where nothing is called in it,
// within a loop of ours that has the check:
//
//	loop body end      block
//	                     loop
//	                       tank -= paid, tank < 1, if tick end
//	                       headers → counter
//	                       loop
//	                         counter -= 1, counter < 0, if br 2 else end
//	                         body
//	                       end
//	                     end
//	                   end
//
// wazero stores a value that lives across a call where it is defined, which for
// what changes in a loop is each round. The values that live across this call are
// those of the outer loop. They are loaded behind it, so that registers hold what
// the inner loop uses, and nothing else has to be there again after each round.
func (c *coder) loop(in *wasmbin.Instr) {
	c.r.stats.Loops++
	c.spill(in)
	values := len(c.r.m.BlockType(in.A).Params) > 0
	if c.r.fuel == 0 || values || c.spans[c.nextSpan].busy || c.r.o.Skip&PassRounds != 0 {
		c.push(plainBlock)
		c.top().loop, c.top().values = true, values
		c.after(in)
		c.buf = append(c.buf, c.check...)
		return
	}
	c.r.stats.Rounds++
	c.before(in)
	l, ok := c.leafLoop()
	few := ok && !l.leaves() && c.strides(l)
	repeat := c.spans[c.nextSpan].back > 0 && len(c.r.m.BlockType(in.A).Results) == 0 && !few
	if repeat {
		c.buf = append(c.buf, wasmbin.OpBlock, 0x40)
		c.labels++
	}
	c.after(in)
	c.buf = append(c.buf, c.r.roundsCheck(c.locals)...)
	c.labels++
	c.push(plainBlock)
	f := c.top()
	f.loop, f.rounds = true, true
	c.nLocals = max(c.nLocals, c.counter)
	c.buf = append(c.buf, c.b[in.Start:in.End]...)
	c.buf = append(c.buf, asm(nil).idx(wasmbin.OpLocalGet, c.locals).i32(1).op(wasmbin.OpI32Sub).idx(wasmbin.OpLocalTee, c.locals).
		i32(0).op(wasmbin.OpI32LtS).void(wasmbin.OpIf)...)
	if ok && l.leaves() {
		c.trace(l)
	}
	c.buf = append(c.buf, asm(nil).idx(wasmbin.OpBr, 2).op(wasmbin.OpElse).end()...)
	if repeat {
		f.body = len(c.buf)
	}
}

// back notes a branch to a label.
func (c *coder) back(open []int32, label uint32, at int) {
	s := &c.spans[open[len(open)-1-int(label)]]
	s.backs++
	s.back = at
}

// repeat writes the body of a loop a few times before the branch back at its end.
// The memory's base and length are loaded once for all of them.
//
//	body, br_if 0           body, if else br out end, body, if br back else end
//	body, br 0              body, body, br 0
//	cond, if body br 1 end  cond, if body br 0 else br out end, cond, if body br 1 end
func (c *coder) repeat(in *wasmbin.Instr, f *frame) {
	c.replace(in)
	const out = 3 // of the if, the loops and the block around them
	var end, back []byte
	switch {
	case in.Op == wasmbin.OpBrIf:
		end = asm(nil).void(wasmbin.OpIf).op(wasmbin.OpElse).idx(wasmbin.OpBr, out).end()
		back = asm(nil).void(wasmbin.OpIf).idx(wasmbin.OpBr, 1).op(wasmbin.OpElse).end()
	case in.A == 0:
		back = asm(nil).idx(wasmbin.OpBr, 0)
	default:
		// A branch, since there may be values that only a branch leaves behind.
		end = asm(nil).idx(wasmbin.OpBr, 0).op(wasmbin.OpElse).idx(wasmbin.OpBr, out).end()
		back = asm(nil).idx(wasmbin.OpBr, 1)
	}
	body := slices.Clone(c.buf[f.body:])
	n := repeats(len(body))
	if n > 1 {
		c.r.stats.Repeated++
	}
	for range n - 1 {
		c.buf = append(c.buf, end...)
		c.places.copied(len(c.buf), f.body, f.body+len(body))
		c.buf = append(c.buf, body...)
	}
	c.buf = append(c.buf, back...)
}

// repeats returns how often a body of n bytes is written.
func repeats(n int) int {
	switch {
	case n <= 128:
		return maxRepeats
	case n <= 256:
		return 2
	}
	return 1
}

// roundsCheck returns the interrupt check of a loop around a loop without calls.
func (r *rewriter) roundsCheck(counter uint32) []byte {
	return r.pay().i32(headers).idx(wasmbin.OpLocalSet, counter)
}

// pay returns an interrupt check for paid rounds.
func (r *rewriter) pay() asm {
	return asm(nil).global(r.tank).i32(paid).op(wasmbin.OpI32Sub).setGlobal(r.tank).global(r.tank).i32(1).op(wasmbin.OpI32LtS).
		void(wasmbin.OpIf).idx(wasmbin.OpCall, r.tick).end()
}
