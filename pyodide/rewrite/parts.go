package rewrite

import (
	"cmp"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// Long sequences are cut into parts, so that large functions are compiled faster.
//
// Four of wazero's passes go from each block of a function up the tree of dominators, or copy
// what is known at the end of the block before. In the body of a Cython module, thousands of
// calls in a row with a way out behind each, that takes most of the time. Here a branch in
// front of the sequence might go to any of its parts, so that it is the immediate dominator of
// each, and nothing that one part knows is handed on to the next:
//
//	a … b … c …     block block block
//	                  __eh_flag, br_table 0 1 2
//	                end a … end b … end c …
//
// No exception is pending while code is executed, and none but ours sets the flag, so the branch
// always goes to the first part. It, values that change places, and bounds that are checked
// again cost some instructions for the 64 branches of a part. Loops stay whole, unless they are
// large themselves: compilers put all of a function into one to share code at its end.

const (
	minCut    = 16 << 10 // bytes of a function or loop that is cut
	partForks = 64       // branches, blocks and calls that may throw, directly in a part
	maxCuts   = 1 << 10  // in a function
)

// cut is a place where a sequence of a number of parts begins, or, if that is 0, where a part
// begins that is not the first.
type cut struct{ at, parts int }

// sequence is the code directly in one block that is being read.
type sequence struct {
	t      wasmbin.FuncType
	start  int
	whole  bool // it cannot be cut: operands are there at its start, or may be
	loop   bool
	before int   // cuts that were found before it began
	cuts   []int // where parts begin, but for the first
	forks  int   // of the last part
	height int   // of its operand stack
}

// nowhere is the height of the operand stack where it is not known: code is not reached there,
// or follows an instruction that after does not know.
const nowhere = -1 << 30

// findCuts finds the places at which a function is cut.
func (c *coder) findCuts(b *body, t wasmbin.FuncType) error {
	c.cuts = c.cuts[:0]
	forks, least := c.r.o.forks, 0
	if forks == 0 {
		forks, least = partForks, minCut
	}
	if !c.r.o.Side && least > 0 || c.r.o.Skip&PassParts != 0 || b.at.End-b.at.Code < least {
		return nil
	}
	code := c.r.m.CodeOf(b.b, b.at, t)
	open := []sequence{{t: t, start: b.at.Code}}
	var in wasmbin.Instr
	for code.Next(&in) {
		s := &open[len(open)-1]
		switch in.Op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf, wasmbin.OpTry:
			bt := c.r.m.BlockType(in.A)
			s.height -= len(bt.Params)
			if in.Op == wasmbin.OpIf {
				s.height--
			}
			open = append(open, sequence{t: bt, start: in.End, whole: in.Op == wasmbin.OpTry || len(bt.Params) > 0,
				loop: in.Op == wasmbin.OpLoop, before: len(c.cuts), height: len(bt.Params)})
			continue
		case wasmbin.OpElse, wasmbin.OpCatch, wasmbin.OpCatchAll:
			c.keepCuts(s, forks)
			*s = sequence{t: s.t, start: in.End, whole: s.whole, height: len(s.t.Params)}
			continue
		case wasmbin.OpEnd, wasmbin.OpDelegate:
			if c.keepCuts(s, forks); s.loop && in.End-s.start < least {
				c.cuts = c.cuts[:s.before]
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				continue
			}
			results := len(s.t.Results)
			s = &open[len(open)-1]
			s.height += results
			s.forks++
		case wasmbin.OpCall, wasmbin.OpCallIndirect, wasmbin.OpBrIf:
			if in.Op != wasmbin.OpCall || c.r.mayThrow[in.A] {
				s.forks++
			}
			fallthrough
		default:
			s.height = c.r.after(s.height, &in)
		}
		if s.height == 0 && s.forks >= forks && !s.whole && len(open) < wasmbin.MaxDepth/2 {
			s.cuts = append(s.cuts, in.End)
			s.forks = 0
		}
	}
	slices.SortFunc(c.cuts, func(a, b cut) int { return cmp.Compare(a.at, b.at) })
	return code.Err()
}

// keepCuts keeps the cuts of a sequence that ends, but for a last part that is short.
func (c *coder) keepCuts(s *sequence, forks int) {
	if n := len(s.cuts); n > 0 && s.forks < (forks+3)/4 {
		s.cuts = s.cuts[:n-1]
	}
	if len(s.cuts) == 0 || len(c.cuts)+len(s.cuts) > maxCuts {
		return
	}
	c.cuts = append(c.cuts, cut{s.start, len(s.cuts) + 1})
	for _, at := range s.cuts {
		c.cuts = append(c.cuts, cut{at: at})
	}
}

// after returns the height of the operand stack after an instruction that neither begins nor
// ends a block.
func (r *rewriter) after(height int, in *wasmbin.Instr) int {
	if pops, pushes, ok := effect(in); ok {
		return height - pops + pushes
	}
	switch op := in.Op; {
	case op == wasmbin.OpCall:
		t := r.m.FuncType(in.A)
		return height - len(t.Params) + len(t.Results)
	case op == wasmbin.OpCallIndirect:
		t := r.m.Types[in.A]
		return height - 1 - len(t.Params) + len(t.Results)
	case op == wasmbin.OpBrIf, op == wasmbin.OpGlobalSet, op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82: // divisions
		return height - 1
	case op == wasmbin.OpMemoryGrow, op >= 0xa8 && op <= 0xb1: // truncations
		return height
	case op == wasmbin.OpMemorySize:
		return height + 1
	case op == wasmbin.PrefixMisc && (in.Sub == wasmbin.MiscMemoryInit || in.Sub == wasmbin.MiscMemoryCopy || in.Sub == wasmbin.MiscMemoryFill):
		return height - 3
	}
	return nowhere
}

// part begins a part where one begins.
func (c *coder) part(in *wasmbin.Instr) {
	if len(c.cuts) == 0 || c.cuts[0].at != in.Start {
		return
	}
	n := c.cuts[0].parts
	c.cuts = c.cuts[1:]
	c.before(in)
	if n > 0 {
		c.r.stats.Parts += n
		for range n {
			c.buf = append(c.buf, wasmbin.OpBlock, 0x40)
		}
		c.labels += int32(n)
		c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpGlobalGet, c.r.flag)
		c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpBrTable, uint32(n-1))
		for i := range n {
			c.buf = wasmbin.AppendU32(c.buf, uint32(i))
		}
	}
	c.close()
	c.meet()
}
