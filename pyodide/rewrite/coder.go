package rewrite

import "coderunner/pyodide/wasmbin"

// What a control frame of the input is.
const (
	plainBlock = byte(iota)
	tryBody
	tryHandler
)

// frame is a control frame of the input. Labels of the output are numbered from
// the outside: 0 is the function's own, 1 the block around its body that
// exceptions leave by.
type frame struct {
	kind   byte
	try    int32 // index of a try's description
	clause int32 // of a handler
	out    int32 // label of the output that means this frame
	unwind int32 // label that takes an exception raised directly in this frame
	depth  int32 // enclosing handlers
	loop   bool
	rounds bool // a loop in a loop of ours
	body   int  // where the body begins in the output, if it is repeated; else 0
	values bool // a branch to it takes values along
	open   bool // an if without an else up to now

	span        int32 // number of the block
	then, other int   // of an if that changes places: where its parts begin in the output
}

// coder rewrites one function at a time. It copies the instructions that stay
// and appends the others. The passes over a body share its position, its locals and
// what was found of its loops, so their steps are methods, in the files of the passes.
type coder struct {
	r       *rewriter
	check   []byte
	buf     []byte
	c       *wasmbin.Code
	b       []byte
	from    int    // what is copied up to now
	places  places // of buf
	sources places // of b
	frames  []frame
	labels  int32
	eh      bool
	wide    bool // an interpreter, see manyLabels

	tries   []try
	next    int32  // try
	locals  uint32 // first of ours
	nLocals uint32
	counter uint32 // 1 when the first of ours counts rounds, else 0
	unwinds []byte // what returns from the function with an exception pending

	spans     []span
	openSpans []int32
	nextSpan  int32

	cuts []cut // in the order of their places

	path int   // changes where paths meet
	seen []int // the path on which each local was read or set last
}

// zeros appends the results of a function that an exception leaves: any values.
func zeros(b []byte, ts []wasmbin.ValType) []byte {
	for _, t := range ts {
		switch t {
		case wasmbin.I32:
			b = append(b, wasmbin.OpI32Const, 0)
		case wasmbin.I64:
			b = append(b, wasmbin.OpI64Const, 0)
		case wasmbin.F32:
			b = append(b, wasmbin.OpF32Const, 0, 0, 0, 0)
		case wasmbin.F64:
			b = append(b, wasmbin.OpF64Const, 0, 0, 0, 0, 0, 0, 0, 0)
		case wasmbin.V128:
			b = append(b, wasmbin.PrefixSIMD, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		default:
			b = append(b, wasmbin.OpRefNull, byte(t))
		}
	}
	return b
}

// replace copies what comes before the instruction and leaves that out.
func (c *coder) replace(in *wasmbin.Instr) {
	c.copy(in.Start)
	c.from = in.End
}

// after copies everything up to the instruction's end.
func (c *coder) after(in *wasmbin.Instr) { c.copy(in.End) }

// before copies everything up to the instruction.
func (c *coder) before(in *wasmbin.Instr) { c.copy(in.Start) }

// copy copies everything up to a position. What is appended next is from there, too.
func (c *coder) copy(to int) {
	if c.r.o.Places {
		c.places.addAll(len(c.buf), c.sources, c.from, to)
	}
	c.buf = append(c.buf, c.b[c.from:to]...)
	c.from = to
}

func (c *coder) top() *frame { return &c.frames[len(c.frames)-1] }

// frameOf returns the frame that a label of the input names.
func (c *coder) frameOf(label uint32) *frame { return &c.frames[len(c.frames)-1-int(label)] }

// rel is the label operand for a label of the output.
func (c *coder) rel(label int32) uint32 { return uint32(c.labels - 1 - label) }

func (c *coder) branch(op byte, label int32) { c.buf = wasmbin.AppendOp(c.buf, op, c.rel(label)) }

func (c *coder) push(kind byte) {
	t := c.top()
	c.frames = append(c.frames, frame{kind: kind, out: c.labels, unwind: t.unwind, depth: t.depth, span: c.nextSpan})
	c.nextSpan++
	c.labels++
}

func (c *coder) pop() { c.frames = c.frames[:len(c.frames)-1] }

// close ends a block of the output.
func (c *coder) close() {
	c.buf = append(c.buf, wasmbin.OpEnd)
	c.labels--
}

// try describes one try of the function at hand.
type try struct {
	delegate bool
	label    uint32 // of delegate
	clauses  []clause

	outer int32 // label of the output
	depth int32 // of handlers around the try
	at    int32 // clauses seen
}

type clause struct {
	all      bool
	tag      uint32
	rethrown bool
}

// span is the result of the first pass for a block of the input.
type span struct {
	then part // before the else, if there is one
	rest part
	op   byte
	busy bool // there is a call, a loop or a try in it
	// Of a loop: the branches back to it, and where the only one is if it ends the
	// loop or an if that ends the loop.
	backs, back int
}

type part struct {
	call   int  // position of its last call, 0: none
	end    int  // 0: there is no such part
	leaves bool // its last instruction never falls through
}
