package wasmbin

import "fmt"

// Parse reads a module. The error is a *FormatError. The result aliases b,
// which must not be changed.
func Parse(b []byte) (*Module, error) {
	m, err := parse(b, len(sectionRank))
	if err != nil {
		return nil, err
	}
	if n := len(m.Funcs) - m.ImportedFuncs; n != len(m.Bodies) {
		return nil, &FormatError{"code", len(b), fmt.Sprintf("%d functions, %d bodies", n, len(m.Bodies))}
	}
	if m.DataCount >= 0 && m.DataCount != len(m.Data) {
		return nil, &FormatError{"data", len(b), fmt.Sprintf("%d segments, %d were announced", len(m.Data), m.DataCount)}
	}
	m.findSlots()
	return m, nil
}

// ParseImports is Parse, but reads only the types and the imports of a module, and does not look
// at the rest.
func ParseImports(b []byte) (*Module, error) { return parse(b, sectionRank[SecImport]) }

// parse reads the sections of a module up to those of a rank.
func parse(b []byte, rank int) (*Module, error) {
	if len(b) > maxModule {
		return nil, &FormatError{"header", 0, fmt.Sprintf("module of %d bytes, at most %d are supported", len(b), maxModule)}
	}
	if len(b) < len(Header) || string(b[:4]) != Header[:4] {
		return nil, &FormatError{"header", 0, "not a WebAssembly module"}
	}
	if string(b[:8]) != Header {
		return nil, &FormatError{"header", 4, "not version 1 of the binary format"}
	}
	m := &Module{Bytes: b, Start: NoFunc, DataCount: -1, exports: map[string]int{}, FuncSlots: map[uint32]uint32{}, tableBase: map[uint32]bool{}}
	top := NewReader(b, len(Header), len(b), "module")
	last := 0
	for top.Len() > 0 {
		at := top.pos
		id := SectionID(top.Byte())
		n := top.Count("bytes in a section", 1, maxModule)
		s := Section{ID: id, Start: top.pos, End: top.pos + n}
		top.Bytes(n)
		if top.err != nil {
			break
		}
		if id >= numSections {
			top.Fail(at, "unknown %v", id)
			break
		}
		if id != SecCustom {
			if sectionRank[id] <= last {
				top.Fail(at, "%v section out of order", id)
				break
			}
			if last = sectionRank[id]; last > rank {
				return m, nil
			}
		}
		if err := m.section(&s); err != nil {
			return nil, err
		}
		m.Sections = append(m.Sections, s)
	}
	return m, top.Err()
}

func (m *Module) section(s *Section) error {
	r := NewReader(m.Bytes, s.Start, s.End, s.ID.String())
	switch s.ID {
	case SecCustom:
		s.Name = r.Name()
		s.Start = r.pos
		if s.Name == "dylink.0" && m.Dylink == nil {
			r.section = s.Name
			m.Dylink = r.dylink()
		}
		r.pos = r.end
	case SecStart:
		m.Start = r.index("function", len(m.Funcs))
	case SecDataCount:
		m.DataCount = int(r.U32())
	default:
		m.vector(r, s.ID)
	}
	if r.err == nil && r.Len() > 0 {
		r.Fail(r.pos, "%d bytes too many", r.Len())
	}
	return r.Err()
}

// vector reads the sections that are a vector of things.
func (m *Module) vector(r *Reader, id SectionID) {
	v := [numSections]struct {
		size, limit int
		read        func(*Reader)
	}{
		SecType:     {3, maxTypes, m.readType},
		SecImport:   {4, maxImports, m.readImport},
		SecFunction: {1, maxFuncs, func(r *Reader) { m.Funcs = append(m.Funcs, r.index("type", len(m.Types))) }},
		SecTable:    {3, maxTables, func(r *Reader) { m.Tables = append(m.Tables, r.table()) }},
		SecMemory:   {2, maxMemories, func(r *Reader) { m.Memories = append(m.Memories, r.limits("memory", maxPages)) }},
		SecTag:      {2, maxTags, m.readTag},
		SecGlobal:   {4, maxGlobals, m.readGlobal},
		SecExport:   {3, maxExports, m.readExport},
		SecElement:  {2, maxElems, m.readElement},
		SecCode:     {3, maxFuncs, m.readBody},
		SecData:     {2, maxData, m.readData},
	}[id]
	for n := r.Count(id.String()+" entries", v.size, v.limit); n > 0 && r.err == nil; n-- {
		v.read(r)
	}
}

func (m *Module) readType(r *Reader) {
	if f := r.Byte(); r.err == nil && f != 0x60 {
		r.Fail(r.pos-1, "unsupported type form %#x", f)
	}
	m.Types = append(m.Types, FuncType{r.valTypes("parameters", maxParams), r.valTypes("results", maxResults)})
}

func (r *Reader) table() Table {
	at := r.pos
	t := Table{Type: r.ValType()}
	if r.err == nil && !t.Type.Ref() {
		r.Fail(at, "table of %v", t.Type)
	}
	t.Limits = r.limits("table", maxTableSize)
	return t
}

func (m *Module) readTag(r *Reader) {
	if a := r.Byte(); r.err == nil && a != 0 {
		r.Fail(r.pos-1, "unsupported tag attribute %#x", a)
	}
	m.Tags = append(m.Tags, r.index("type", len(m.Types)))
}

func (r *Reader) globalType() Global {
	g := Global{Type: r.ValType()}
	mut := r.Byte()
	if r.err == nil && mut > 1 {
		r.Fail(r.pos-1, "unsupported mutability %#x", mut)
	}
	g.Mutable = mut == 1
	return g
}

func (m *Module) readGlobal(r *Reader) {
	g := r.globalType()
	g.Init = r.constExpr(m, len(m.Globals))
	m.Globals = append(m.Globals, g)
}

func (m *Module) readImport(r *Reader) {
	im := Import{Module: r.Name(), Name: r.Name()}
	at := r.pos
	im.Kind = Kind(r.Byte())
	switch im.Kind {
	case KindFunc:
		im.Index = uint32(len(m.Funcs))
		m.Funcs = append(m.Funcs, r.index("type", len(m.Types)))
		m.ImportedFuncs++
	case KindTable:
		im.Index = uint32(len(m.Tables))
		m.Tables = append(m.Tables, r.table())
		m.ImportedTables++
	case KindMemory:
		im.Index = uint32(len(m.Memories))
		m.Memories = append(m.Memories, r.limits("memory", maxPages))
		m.ImportedMemories++
	case KindGlobal:
		im.Index = uint32(len(m.Globals))
		m.Globals = append(m.Globals, r.globalType())
		m.ImportedGlobals++
		m.tableBase[im.Index] = im.Module == "env" && im.Name == "__table_base"
	case KindTag:
		im.Index = uint32(len(m.Tags))
		m.readTag(r)
		m.ImportedTags++
	default:
		r.Fail(at, "unsupported import %v", im.Kind)
	}
	m.Imports = append(m.Imports, im)
}

func (m *Module) readExport(r *Reader) {
	at := r.pos
	e := Export{Name: r.Name(), Kind: Kind(r.Byte())}
	n := 0
	switch e.Kind {
	case KindFunc:
		n = len(m.Funcs)
	case KindTable:
		n = len(m.Tables)
	case KindMemory:
		n = len(m.Memories)
	case KindGlobal:
		n = len(m.Globals)
	case KindTag:
		n = len(m.Tags)
	default:
		r.Fail(at, "unsupported export %v", e.Kind)
	}
	e.Index = r.index(e.Kind.String(), n)
	if _, dup := m.exports[e.Name]; dup {
		r.Fail(at, "export %q occurs twice", e.Name)
	}
	if r.err != nil {
		return
	}
	m.exports[e.Name] = len(m.Exports)
	m.Exports = append(m.Exports, e)
}

func (m *Module) readBody(r *Reader) {
	at := r.pos
	i := len(m.Bodies) + m.ImportedFuncs
	if i >= len(m.Funcs) {
		r.Fail(at, "more bodies than functions")
		return
	}
	size := r.Count("bytes in a body", 1, maxBody)
	b, err := m.ReadBody(r.b, r.pos, r.pos+size)
	if err != nil {
		r.Fail(err.Off, "%s", err.Msg)
		return
	}
	r.Bytes(size)
	m.Bodies = append(m.Bodies, b)
}

// ReadBody reads the local declarations of the body b[start:end].
func (m *Module) ReadBody(b []byte, start, end int) (Body, *FormatError) {
	q := NewReader(b, start, end, "code")
	body := Body{Start: start, End: end}
	for n := q.Count("local groups", 2, maxLocals); n > 0 && q.err == nil; n-- {
		at := q.pos
		k := q.U32()
		if q.ValType(); k > maxLocals || body.Locals+int(k) > maxLocals {
			q.Fail(at, "more than %d locals", maxLocals)
			break
		}
		body.Locals += int(k)
	}
	body.Code = q.pos
	return body, q.err
}
