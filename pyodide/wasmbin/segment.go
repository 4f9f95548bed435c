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

// AppendData appends a data segment.
func AppendData(b []byte, d Data) []byte {
	switch {
	case d.Mode == Passive:
		b = append(b, 1)
	case d.Memory == 0:
		b = append(append(b, 0), d.Offset...)
	default:
		b = append(AppendU32(append(b, 2), d.Memory), d.Offset...)
	}
	return append(AppendU32(b, uint32(len(d.Bytes))), d.Bytes...)
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

// AppendElement appends an element segment. Its elements are Items, or Funcs
// where there are none.
func AppendElement(b []byte, e Element) []byte {
	flags := byte(0)
	switch {
	case e.Mode == Passive:
		flags = elemNotActive
	case e.Mode == Declared:
		flags = elemNotActive | elemExplicit
	case e.Table != 0 || e.Type == ExternRef:
		flags = elemExplicit
	}
	if len(e.Items) > 0 || e.Type == ExternRef {
		flags |= elemExprs
	}
	b = append(b, flags)
	if e.Mode == Active {
		if flags&elemExplicit != 0 {
			b = AppendU32(b, e.Table)
		}
		b = append(b, e.Offset...)
	}
	switch {
	case flags&(elemNotActive|elemExplicit) == 0:
	case flags&elemExprs != 0:
		b = append(b, byte(e.Type))
	default:
		b = append(b, 0)
	}
	if flags&elemExprs != 0 {
		b = AppendU32(b, uint32(len(e.Items)))
		for _, x := range e.Items {
			b = append(b, x...)
		}
		return b
	}
	b = AppendU32(b, uint32(len(e.Funcs)))
	for _, f := range e.Funcs {
		b = AppendU32(b, f)
	}
	return b
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
		if old, ok := m.FuncSlots[fn]; !ok || slot < old {
			m.FuncSlots[fn] = slot
		}
	})
}
