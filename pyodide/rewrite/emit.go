package rewrite

import (
	"fmt"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// module puts the new module together.
func (r *rewriter) module(code []byte) ([]byte, error) {
	out := make([]byte, 0, len(code)+len(r.in)-len(r.in)/2)
	out = append(out, wasmbin.Header...)
	raw := func(id wasmbin.SectionID) {
		if s, ok := r.m.SectionOf(id); ok {
			out = wasmbin.AppendSection(out, id, r.in[s.Start:s.End])
		}
	}
	vec := func(id wasmbin.SectionID, n int, body []byte) {
		if n > 0 {
			out = wasmbin.AppendSection(out, id, wasmbin.AppendU32(nil, uint32(n)), body)
		}
	}
	for _, s := range r.m.Sections {
		if s.ID == wasmbin.SecCustom && s.Name == "dylink.0" {
			out = wasmbin.AppendSection(out, wasmbin.SecCustom, wasmbin.AppendName(nil, s.Name), r.in[s.Start:s.End])
			break
		}
	}
	if len(r.got.table.Names) > 0 {
		out = wasmbin.AppendGOT(out, r.got.table)
	}
	exports, err := r.newExports()
	if err != nil {
		return nil, err
	}
	imports := r.newImports()
	vec(wasmbin.SecType, len(r.m.Types)+len(r.addedTypes), r.typeSection())
	vec(wasmbin.SecImport, imports.n, imports.b)
	vec(wasmbin.SecFunction, len(r.bodies)+len(r.helpers), r.functionSection())
	vec(wasmbin.SecTable, len(r.m.Tables)-r.m.ImportedTables, r.tableSection())
	if r.addedMemory && !r.o.Side {
		vec(wasmbin.SecMemory, 1, wasmbin.AppendLimits(nil, wasmbin.Limits{HasMax: true}))
	} else {
		raw(wasmbin.SecMemory)
	}
	globals := r.globalSection()
	vec(wasmbin.SecGlobal, globals.n, globals.b)
	vec(wasmbin.SecExport, exports.n, exports.b)
	raw(wasmbin.SecStart)
	elems := r.elementSection()
	vec(wasmbin.SecElement, elems.n, elems.b)
	if !r.o.Lean {
		raw(wasmbin.SecDataCount)
	}
	if len(r.bodies)+len(r.helpers) > 0 {
		out = wasmbin.AppendSection(out, wasmbin.SecCode, code)
	}
	if !r.o.Lean {
		data := r.dataSection()
		vec(wasmbin.SecData, data.n, data.b)
	}
	return out, nil
}

// vector is the content of a section.
type vector struct {
	n int
	b []byte
}

func (v *vector) add(b []byte) { v.n++; v.b = append(v.b, b...) }

// payload returns a vector section's content without its length.
func (r *rewriter) payload(id wasmbin.SectionID) []byte {
	s, ok := r.m.SectionOf(id)
	if !ok {
		return nil
	}
	q := wasmbin.NewReader(r.in, s.Start, s.End, id.String())
	q.U32()
	return r.in[q.Pos():s.End]
}

func (r *rewriter) typeSection() []byte {
	b := r.payload(wasmbin.SecType)
	b = b[:len(b):len(b)]
	for _, t := range r.addedTypes {
		b = append(b, t...)
	}
	return b
}

func (r *rewriter) functionSection() []byte {
	b := r.payload(wasmbin.SecFunction)
	b = b[:len(b):len(b)]
	for _, h := range r.helpers {
		b = wasmbin.AppendU32(b, h.typ)
	}
	return b
}

func (r *rewriter) newImports() (v vector) {
	for _, im := range r.m.Imports {
		_, got := r.got.offset(im.Index)
		if im.Kind == wasmbin.KindTag || im.Kind == wasmbin.KindGlobal && (got || r.o.Lean) {
			continue
		}
		v.add(wasmbin.AppendImport(nil, r.m, im, im.Module))
	}
	if !r.o.Side {
		return v
	}
	if r.got.added {
		e := wasmbin.AppendName(wasmbin.AppendName(nil, "env"), "__memory_base")
		v.add(append(e, byte(wasmbin.KindGlobal), byte(wasmbin.I32), 0))
	}
	for _, name := range r.sharedNames() {
		e := wasmbin.AppendName(wasmbin.AppendName(nil, "env"), name)
		v.add(append(e, byte(wasmbin.KindGlobal), byte(wasmbin.I32), 1))
	}
	if r.addedMemory {
		e := wasmbin.AppendName(wasmbin.AppendName(nil, "env"), "memory")
		v.add(wasmbin.AppendLimits(append(e, byte(wasmbin.KindMemory)), wasmbin.Limits{}))
	}
	return v
}

// sharedNames lists the globals that all modules share, in the order of their
// indices.
func (r *rewriter) sharedNames() []string {
	if r.fuel == 0 {
		return []string{FlagGlobal, ValueGlobal}
	}
	return []string{FlagGlobal, ValueGlobal, InterruptGlobal}
}

func (r *rewriter) tableSection() []byte {
	var b []byte
	for i, t := range r.m.Tables[r.m.ImportedTables:] {
		if i == 0 && r.o.Trampoline {
			t.Min++
			t.Max = max(t.Max, t.Min)
		}
		if l := max(r.o.TableMax, t.Min); r.o.TableMax > 0 && (!t.HasMax || t.Max > l) {
			t.HasMax, t.Max = true, l
		}
		b = wasmbin.AppendTable(b, t)
	}
	return b
}

func (r *rewriter) globalSection() (v vector) {
	ours := func(init int32) {
		v.add(append(wasmbin.AppendI32Const([]byte{byte(wasmbin.I32), 1}, init), wasmbin.OpEnd))
	}
	for i, g := range r.m.Globals {
		switch {
		case i < r.m.ImportedGlobals && !r.o.Lean, r.dropped[i]:
		case i < r.m.ImportedGlobals:
			v.add(append(wasmbin.AppendGlobalType(nil, wasmbin.I32, g.Mutable), wasmbin.OpI32Const, 0, wasmbin.OpEnd))
		default:
			v.add(append(wasmbin.AppendGlobalType(nil, g.Type, g.Mutable), r.remap(g.Init)...))
		}
	}
	if !r.o.Side {
		for range r.sharedNames() {
			ours(0)
		}
	}
	if r.fuel > 0 {
		ours(r.fuel)
	}
	if r.o.Trampoline {
		ours(0)
		ours(0)
	}
	return v
}

// remap returns an expression with the new indices of globals.
func (r *rewriter) remap(x wasmbin.Expr) (out []byte) {
	from := 0
	x.Globals(func(start, end int, g uint32) {
		out = wasmbin.AppendU32(append(out, x[from:start]...), r.globals[g])
		from = end
	})
	return append(out, x[from:]...)
}

func (r *rewriter) newExports() (v vector, err error) {
	taken := map[string]bool{}
	add := func(name string, k wasmbin.Kind, index uint32) {
		if taken[name] {
			err = fmt.Errorf("rewrite: export %s exists already", name)
		}
		taken[name] = true
		v.add(wasmbin.AppendExport(nil, name, k, index))
	}
	exported := map[uint32]bool{}
	for _, e := range r.m.Exports {
		if !r.kept(e) {
			continue
		}
		i := e.Index
		if e.Kind == wasmbin.KindGlobal {
			exported[i] = true
			i = r.globals[i]
		} else if own := r.threads.split[e.Name]; own != 0 && e.Kind == wasmbin.KindFunc {
			i = own
		}
		add(e.Name, e.Kind, i)
	}
	r.stats.Exports = v.n
	for i := r.m.ImportedGlobals; i < len(r.m.Globals); i++ {
		if r.m.Globals[i].Mutable && !exported[uint32(i)] {
			add(fmt.Sprint(globalPrefix, i), wasmbin.KindGlobal, r.globals[i])
		}
	}
	if r.o.Side {
		return v, err
	}
	for i, name := range r.sharedNames() {
		add(name, wasmbin.KindGlobal, r.flag+uint32(i))
	}
	if r.fuel > 0 {
		add(FuelGlobal, wasmbin.KindGlobal, r.tank)
	}
	if r.o.Trampoline {
		add(ArityTable, wasmbin.KindGlobal, r.arity)
		add(ArityLen, wasmbin.KindGlobal, r.arityLen)
	}
	if r.o.Threads {
		add(ThreadStart, wasmbin.KindFunc, r.threads.start)
	}
	for i, t := range r.tableInfo() {
		if !taken[t.Export] {
			add(t.Export, wasmbin.KindTable, uint32(i))
		}
		add(t.Size, wasmbin.KindFunc, r.tableFuncs[i][0])
		add(t.Grow, wasmbin.KindFunc, r.tableFuncs[i][1])
	}
	return v, err
}

// elementSection is the module's own segments and one for the trampoline.
func (r *rewriter) elementSection() (v vector) {
	for _, e := range r.m.Elements {
		e.Offset, e.Items = r.remap(e.Offset), slices.Clone(e.Items)
		for i, x := range e.Items {
			e.Items[i] = r.remap(x)
		}
		v.add(wasmbin.AppendElement(nil, e))
	}
	if r.o.Trampoline {
		offset := append(wasmbin.AppendI32Const(nil, int32(r.m.Tables[0].Min)), wasmbin.OpEnd)
		v.add(wasmbin.AppendElement(nil, wasmbin.Element{Offset: offset, Funcs: []uint32{r.tramp}}))
	}
	return v
}

func (r *rewriter) dataSection() (v vector) {
	for _, d := range r.m.Data {
		d.Offset = r.remap(d.Offset)
		v.add(wasmbin.AppendData(nil, d))
	}
	return v
}
