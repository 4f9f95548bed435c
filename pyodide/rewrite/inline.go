package rewrite

import (
	"slices"

	"coderunner/pyodide/wasmbin"
)

// Functions up to these sizes, in bytes of code, are copied into their callers.
const (
	maxLeaf = 150 // those that call nothing
	maxHot  = 400 // those of hotFuncs
)

const (
	// inlineDepth is how deep blocks may nest around and in a copy.
	inlineDepth = wasmbin.MaxDepth / 2
	// inlineLocals bounds the locals of a caller, copyLocals those of a copied
	// function.
	inlineLocals, copyLocals = 10_000, 64
)

// hotFuncs are functions of CPython that are called often and have a short usual
// path. A copy is correct whatever a function of this name does.
var hotFuncs = []string{"_Py_NewReference", "PyObject_Malloc", "PyObject_Free", "PyObject_GC_UnTrack", "PyObject_Hash",
	"PyLong_FromLong", "_PyType_GetDict", "PyMapping_GetOptionalItem", "PyDict_SetItem", "_PyThreadState_PopFrame",
	"PyDict_GetItemRef", "PyObject_GC_Track", "_PyEval_FrameClearAndPop", "_PyEval_LoadName"}

// template is a function that can be copied into its callers.
type template struct {
	t      wasmbin.FuncType
	locals []wasmbin.ValType // with parameters
	body   body
	depth  int  // of its blocks
	block  bool // it has an early exit
}

func (t *template) size() int { return t.body.at.End - t.body.at.Code }

// pools are the types of locals that a template may have.
var pools = [...]wasmbin.ValType{wasmbin.I32, wasmbin.I64, wasmbin.F32, wasmbin.F64}

// inline copies short functions into their callers. A call takes some thirty
// instructions, and a copy knows of the bounds that its caller has checked.
func (r *rewriter) inline() error {
	if r.o.Skip&PassInline != 0 {
		return nil
	}
	x := inliner{r: r, templates: map[uint32]*template{}}
	hot := map[uint32]bool{}
	for _, name := range hotFuncs {
		if f, ok := r.m.ExportedFunc(name); ok {
			hot[f] = true
		}
	}
	for i := range r.bodies {
		f := uint32(i + r.m.ImportedFuncs)
		if err := x.consider(f, &r.bodies[i], hot[f]); err != nil {
			return err
		}
	}
	if len(x.templates) == 0 {
		return nil
	}
	for i := range r.bodies {
		if err := x.function(i); err != nil {
			return err
		}
	}
	return nil
}

// inliner copies templates into one caller at a time.
type inliner struct {
	r         *rewriter
	templates map[uint32]*template // by function

	first [len(pools)]uint32 // local of each pool
	buf   []byte
	left  int // bytes that may still be copied

	places places // of buf
}

// consider makes a template of a function if possible.
func (x *inliner) consider(f uint32, b *body, hot bool) error {
	t := &template{t: x.r.m.FuncType(f), body: *b}
	if t.size() > maxHot || t.size() > maxLeaf && !hot || len(t.t.Results) > 1 || b.at.Locals > copyLocals {
		return nil
	}
	t.locals = append(slices.Clone(t.t.Params), x.r.localTypes(b)...)
	if len(t.locals) > copyLocals || slices.ContainsFunc(t.locals, func(v wasmbin.ValType) bool { return !slices.Contains(pools[:], v) }) {
		return nil
	}
	code := x.r.m.CodeOf(b.b, b.at, t.t)
	var in wasmbin.Instr
	for last, depth := byte(wasmbin.OpNop), 0; code.Next(&in); last = in.Op {
		switch in.Op {
		case wasmbin.OpBlock, wasmbin.OpIf:
			depth++
			t.depth = max(t.depth, depth)
		case wasmbin.OpEnd:
			t.block = t.block || depth == 0 && leaves(last)
			depth--
		case wasmbin.OpReturn:
			t.block = true
		case wasmbin.OpBr, wasmbin.OpBrIf:
			t.block = t.block || int(in.A) == depth
		case wasmbin.OpBrTable:
			t.block = true
		case wasmbin.OpCall, wasmbin.OpCallIndirect:
			if !hot {
				return code.Err()
			}
		case wasmbin.OpLoop, wasmbin.OpTry, wasmbin.OpCatch, wasmbin.OpCatchAll, wasmbin.OpDelegate, wasmbin.OpThrow,
			wasmbin.OpRethrow, wasmbin.OpReturnCall, wasmbin.OpReturnCallIndirect:
			return code.Err()
		}
	}
	if code.Err() == nil {
		x.templates[f] = t
	}
	return code.Err()
}

// localTypes lists the types of a body's locals without parameters.
func (r *rewriter) localTypes(b *body) (ts []wasmbin.ValType) {
	q := wasmbin.NewReader(b.b, b.at.Start, b.at.Code, "code")
	for n := q.U32(); n > 0; n-- {
		k := q.U32()
		ts = append(ts, slices.Repeat([]wasmbin.ValType{q.ValType()}, int(k))...)
	}
	return ts
}

// function copies templates into a function.
func (x *inliner) function(i int) error {
	b := &x.r.bodies[i]
	self := uint32(i + x.r.m.ImportedFuncs)
	t := x.r.m.FuncType(self)
	need, found, err := x.need(x.r.m.CodeOf(b.b, b.at, t), self)
	if err != nil || !found || b.at.Locals > inlineLocals {
		return err
	}
	size := b.at.End - b.at.Code
	x.left = max(size/2, 1024)
	x.buf, x.places = make([]byte, 0, size+size/4+64), nil
	x.declare(b, uint32(len(t.Params)+b.at.Locals), need)
	if err := x.calls(b, t, self); err != nil {
		return err
	}
	at, ferr := x.r.m.ReadBody(x.buf, 0, len(x.buf))
	if ferr != nil {
		return ferr
	}
	*b = body{b: x.buf, at: at, places: x.places}
	return nil
}

// need counts the locals that the copies in a function need at once.
func (x *inliner) need(code *wasmbin.Code, self uint32) (need [len(pools)]uint32, found bool, err error) {
	var in wasmbin.Instr
	for code.Next(&in) {
		if in.Op != wasmbin.OpCall || in.A == self || x.templates[in.A] == nil {
			continue
		}
		found = true
		var n [len(pools)]uint32
		for _, v := range x.templates[in.A].locals {
			n[slices.Index(pools[:], v)]++
		}
		for p := range need {
			need[p] = max(need[p], n[p])
		}
	}
	return need, found, code.Err()
}

// declare begins the new body: the function's own locals, and those of the
// copies, from the index next on.
func (x *inliner) declare(b *body, next uint32, need [len(pools)]uint32) {
	q := wasmbin.NewReader(b.b, b.at.Start, b.at.Code, "code")
	x.buf = wasmbin.AppendU32(x.buf, q.U32()+uint32(len(pools)))
	x.buf = append(x.buf, b.b[q.Pos():b.at.Code]...)
	for p, n := range need {
		x.first[p] = next
		next += n
		x.buf = append(wasmbin.AppendU32(x.buf, n), byte(pools[p]))
	}
}

// calls appends the instructions of a function, with copies for calls.
func (x *inliner) calls(b *body, t wasmbin.FuncType, self uint32) error {
	code := x.r.m.CodeOf(b.b, b.at, t)
	from, depth := b.at.Code, 1
	var in wasmbin.Instr
	for code.Next(&in) {
		switch in.Op {
		case wasmbin.OpBlock, wasmbin.OpLoop, wasmbin.OpIf, wasmbin.OpTry:
			depth++
		case wasmbin.OpEnd, wasmbin.OpDelegate:
			depth--
		case wasmbin.OpCall:
			t := x.templates[in.A]
			if t == nil || in.A == self || depth+t.depth >= inlineDepth || t.size() > x.left {
				break
			}
			x.note(from, 0)
			x.buf = append(x.buf, b.b[from:in.Start]...)
			from = in.End
			x.left -= t.size()
			x.r.stats.Inlined++
			if err := x.copy(t, in.Start); err != nil {
				return err
			}
		}
	}
	x.note(from, 0)
	x.buf = append(x.buf, b.b[from:b.at.End]...)
	return code.Err()
}

// note notes where what is appended next is from, and the call that it replaces.
func (x *inliner) note(from, call int) {
	if x.r.o.Places {
		x.places.add(len(x.buf), uint32(from), uint32(call))
	}
}

// copy appends a template for the call at a position: its locals are set as a call would set them, and
// what returns leaves the block around it.
func (x *inliner) copy(t *template, call int) error {
	next := x.first
	locals := make([]uint32, len(t.locals))
	for i, v := range t.locals {
		p := slices.Index(pools[:], v)
		locals[i] = next[p]
		next[p]++
	}
	for i := len(t.t.Params) - 1; i >= 0; i-- {
		x.buf = wasmbin.AppendOp(x.buf, wasmbin.OpLocalSet, locals[i])
	}
	for i := len(t.t.Params); i < len(locals); i++ {
		x.buf = wasmbin.AppendOp(zeros(x.buf, t.locals[i:i+1]), wasmbin.OpLocalSet, locals[i])
	}
	if t.block {
		x.buf = append(x.buf, wasmbin.OpBlock, 0x40)
		if len(t.t.Results) > 0 {
			x.buf[len(x.buf)-1] = byte(t.t.Results[0])
		}
	}
	code := x.r.m.CodeOf(t.body.b, t.body.at, t.t)
	var in wasmbin.Instr
	for depth := uint32(0); code.Next(&in); {
		x.note(in.Start, call)
		switch in.Op {
		case wasmbin.OpLocalGet, wasmbin.OpLocalSet, wasmbin.OpLocalTee:
			x.buf = wasmbin.AppendOp(x.buf, in.Op, locals[in.A])
			continue
		case wasmbin.OpReturn:
			x.buf = wasmbin.AppendOp(x.buf, wasmbin.OpBr, depth)
			continue
		case wasmbin.OpBlock, wasmbin.OpIf:
			depth++
		case wasmbin.OpEnd:
			if depth == 0 && !t.block {
				continue
			}
			depth--
		}
		x.buf = append(x.buf, t.body.b[in.Start:in.End]...)
	}
	return code.Err()
}
