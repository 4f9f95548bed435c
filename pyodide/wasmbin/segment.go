package wasmbin

func (m *Module) readData(r *Reader) {
	at := r.pos
	d := Data{}
	switch f := r.U32(); f {
	case 0:
	case 1:
		d.Mode = Passive
	case 2:
		d.Memory = r.U32()
	default:
		r.Fail(at, "unsupported data segment flags %#x", f)
	}
	if d.Mode == Active {
		if r.err == nil && int(d.Memory) >= len(m.Memories) {
			r.Fail(at, "memory index %d out of range (%d)", d.Memory, len(m.Memories))
		}
		d.Offset = r.constExpr(m, len(m.Globals))
	}
	d.Bytes = r.Bytes(r.Count("bytes of data", 1, maxModule))
	m.Data = append(m.Data, d)
}

// Flags of element segments.
const (
	elemNotActive = 1 << iota
	elemExplicit  // table index, or declared
	elemExprs
)

func (m *Module) readElement(r *Reader) {
	at := r.pos
	f := r.U32()
	if f > 7 {
		r.Fail(at, "unsupported element segment flags %#x", f)
		return
	}
	e := Element{Type: FuncRef}
	switch {
	case f&elemNotActive == 0:
		if f&elemExplicit != 0 {
			e.Table = r.U32()
		}
		if r.err == nil && int(e.Table) >= len(m.Tables) {
			r.Fail(at, "table index %d out of range (%d)", e.Table, len(m.Tables))
		}
		e.Offset = r.constExpr(m, len(m.Globals))
	case f&elemExplicit != 0:
		e.Mode = Declared
	default:
		e.Mode = Passive
	}
	if f&(elemNotActive|elemExplicit) != 0 {
		if f&elemExprs != 0 {
			e.Type = r.ValType()
		} else if k := r.Byte(); r.err == nil && k != 0 {
			r.Fail(r.pos-1, "unsupported element kind %#x", k)
		}
	}
	n := r.Count("elements", 1, maxElems)
	e.Funcs = make([]uint32, 0, n)
	for ; n > 0 && r.err == nil; n-- {
		fn := NoFunc
		if f&elemExprs == 0 {
			fn = r.index("function", len(m.Funcs))
		} else {
			x := r.constExpr(m, len(m.Globals))
			if v, ok := x.RefFunc(); ok {
				fn = v
			}
			e.Items = append(e.Items, x)
		}
		e.Funcs = append(e.Funcs, fn)
	}
	m.Elements = append(m.Elements, e)
}

// Slots calls f for each slot of table 0 that an active element segment fills,
// if the segment's offset is constant or that of a side module: slots of the
// latter are relative to its __table_base.
func (m *Module) Slots(f func(slot, fn uint32)) {
	base := func(g uint32) (uint32, bool) { return 0, m.tableBase[g] }
	for _, e := range m.Elements {
		if e.Mode != Active || e.Table != 0 {
			continue
		}
		off, ok := e.Offset.Eval32(base)
		if !ok {
			continue
		}
		for i, fn := range e.Funcs {
			if fn != NoFunc {
				f(off+uint32(i), fn)
			}
		}
	}
}

func (m *Module) findSlots() {
	m.Slots(func(slot, fn uint32) {
		if old, ok := m.slots[fn]; !ok || slot < old {
			m.slots[fn] = slot
		}
	})
}
