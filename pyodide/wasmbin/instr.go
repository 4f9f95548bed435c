package wasmbin

// Instr is one decoded instruction.
type Instr struct {
	Op byte
	// Sub is the number after a prefix.
	Sub uint32
	// A is the index or label of an instruction that has one, a block type (see
	// Module.BlockType), the type of call_indirect, or the number of labels of
	// br_table without the default. B is the second index of an instruction
	// that has two.
	A, B uint32
	// Value is that of i32.const.
	Value int32
	// The instruction is Bytes[Start:End] of what is decoded, its immediates
	// begin at Imm.
	Start, Imm, End int
}

// Block types in Instr.A that are not a type index.
const (
	BlockEmpty = ^uint32(0)
	blockValue = ^uint32(0) - 0x100 // plus the value type
)

// BlockType returns the type of a block, for Instr.A.
func (m *Module) BlockType(a uint32) FuncType {
	switch {
	case a == BlockEmpty:
		return FuncType{}
	case a >= blockValue:
		return FuncType{Results: []ValType{ValType(a - blockValue)}}
	}
	return m.Types[a]
}

// Code decodes the instructions of one body. Every index it returns is in the
// range of the module, and every label within the nesting.
type Code struct {
	Reader
	m      *Module
	locals int
	depth  int // open blocks, the function's own included
}

// CodeOf returns a decoder of a body in b, which need not be the module's own.
func (m *Module) CodeOf(b []byte, body Body, t FuncType) *Code {
	return &Code{Reader: Reader{b: b, pos: body.Code, end: body.End, section: "code"}, m: m,
		locals: body.Locals + len(t.Params), depth: 1}
}

// Next decodes one instruction. It returns false after the one that ends the
// function, and after an error.
func (c *Code) Next(in *Instr) bool {
	if c.depth == 0 {
		if c.pos != c.end {
			c.Fail(c.pos, "%d bytes after the function's end", c.Len())
		}
		return false
	}
	in.Start = c.pos
	op := c.Byte()
	in.Op, in.Imm = op, c.pos
	switch immOf[op] {
	case immNone:
		if op == OpEnd {
			c.depth--
		}
	case immLocal:
		in.A = c.index("local", c.locals)
	case immMemarg:
		c.memarg()
	case immI32:
		in.Value = c.S32()
	case immBlock:
		in.A = c.blockType()
		c.open()
	case immGlobal:
		in.A = c.index("global", len(c.m.Globals))
	case immFunc:
		in.A = c.index("function", len(c.m.Funcs))
	case immLabel:
		in.A = c.label(op)
	case immCallIndirect:
		in.A, in.B = c.index("type", len(c.m.Types)), c.index("table", len(c.m.Tables))
	case immBrTable:
		in.A = c.brTable()
	default:
		c.rare(in)
	}
	in.End = c.pos
	return c.err == nil
}

func (c *Code) open() {
	if c.depth++; c.depth > MaxDepth {
		c.Fail(c.pos, "blocks nested deeper than %d", MaxDepth)
	}
}

func (c *Code) label(op byte) uint32 {
	if op == OpDelegate { // ends its try; the label counts from outside
		c.depth--
	}
	return c.index("label", c.depth)
}

func (c *Code) brTable() uint32 {
	n := c.Count("branch labels", 1, maxBrTable)
	for i := 0; i <= n && c.err == nil; i++ {
		c.index("label", c.depth)
	}
	return uint32(n)
}

// Labels calls f for each label of a br_table, the default last.
func (c *Code) Labels(in *Instr, f func(uint32)) {
	r := Reader{b: c.b, pos: in.Imm, end: in.End, section: c.section}
	for n := r.U32() + 1; n > 0 && r.err == nil; n-- {
		f(r.U32())
	}
}

func (c *Code) blockType() uint32 {
	at := c.pos
	if c.Len() > 0 {
		switch b := c.b[c.pos]; {
		case b == 0x40:
			c.pos++
			return BlockEmpty
		case ValType(b).Known():
			c.pos++
			return blockValue + uint32(b)
		}
	}
	v := c.S33()
	if c.err == nil && (v < 0 || v >= int64(len(c.m.Types))) {
		c.Fail(at, "unsupported block type %d", v)
		return BlockEmpty
	}
	return uint32(v)
}

func (c *Code) memarg() {
	at := c.pos
	if f := c.U32(); f >= 64 { // 64 and up: several memories
		c.Fail(at, "unsupported alignment %#x", f)
	}
	c.U32()
	if c.err == nil && len(c.m.Memories) == 0 {
		c.Fail(at, "there is no memory")
	}
}

func (c *Code) memory() uint32 { return c.index("memory", len(c.m.Memories)) }

func (c *Code) rare(in *Instr) {
	switch immOf[in.Op] {
	case immTag:
		in.A = c.index("tag", len(c.m.Tags))
	case immTable:
		in.A = c.index("table", len(c.m.Tables))
	case immMem:
		in.A = c.memory()
	case immI64:
		c.S64()
	case immF32:
		c.Bytes(4)
	case immF64:
		c.Bytes(8)
	case immHeap:
		if t := c.ValType(); c.err == nil && !t.Ref() {
			c.Fail(in.Start, "null of type %v", t)
		}
	case immTypes:
		c.valTypes("types", maxResults)
	case immMisc:
		in.Sub = c.U32()
		c.misc(in)
	case immSIMD:
		in.Sub = c.U32()
		c.simd(in)
	default:
		c.Fail(in.Start, "unsupported opcode %#x", in.Op)
	}
}

func (c *Code) misc(in *Instr) {
	switch s := in.Sub; {
	case s < MiscMemoryInit: // saturating truncations
	case s == MiscMemoryInit:
		in.A, in.B = c.data(in), c.memory()
	case s == MiscDataDrop:
		in.A = c.data(in)
	case s == MiscMemoryCopy:
		in.A, in.B = c.memory(), c.memory()
	case s == MiscMemoryFill:
		in.A = c.memory()
	case s == MiscTableInit:
		in.A, in.B = c.index("element segment", len(c.m.Elements)), c.index("table", len(c.m.Tables))
	case s == MiscElemDrop:
		in.A = c.index("element segment", len(c.m.Elements))
	case s == MiscTableCopy:
		in.A, in.B = c.index("table", len(c.m.Tables)), c.index("table", len(c.m.Tables))
	case s <= MiscTableFill:
		in.A = c.index("table", len(c.m.Tables))
	default:
		c.Fail(in.Start, "unsupported opcode 0xfc %d", s)
	}
}

// data reads a data index. While the module is parsed the data section is not
// known yet, its count is.
func (c *Code) data(in *Instr) uint32 {
	if c.m.DataCount < 0 {
		c.Fail(in.Start, "data count section missing")
	}
	return c.index("data segment", c.m.DataCount)
}

func (c *Code) simd(in *Instr) {
	switch s := in.Sub; {
	case s <= 11, s == 92, s == 93: // loads and stores
		c.memarg()
	case s == simdConst, s == simdShuffle:
		c.Bytes(16)
	case s >= 21 && s <= 34: // lanes
		c.Byte()
	case s >= 84 && s <= 91: // loads and stores of lanes
		c.memarg()
		c.Byte()
	case s > simdLast:
		c.Fail(in.Start, "unsupported opcode 0xfd %d", s)
	}
}
