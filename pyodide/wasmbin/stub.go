package wasmbin

// Stub writes the module without what only its code is made of: the bodies
// of its functions are such that they trap, and of its custom sections only
// dylink.0 and gotSection are left. What an instance of it has beside its code (imports,
// exports, tables, memories, globals) is the same. Data segments for which
// emptied is true lose their contents; nil keeps all.
func (m *Module) Stub(emptied func(Data) bool) []byte {
	out := []byte(Header)
	for _, s := range m.Sections {
		payload := m.Bytes[s.Start:s.End]
		switch s.ID {
		case SecCustom:
			if s.Name == "dylink.0" || s.Name == gotSection {
				out = AppendSection(out, s.ID, AppendName(nil, s.Name), payload)
			}
		case SecCode:
			out = AppendSection(out, s.ID, m.trappingBodies())
		case SecData:
			out = AppendSection(out, s.ID, m.emptied(emptied))
		default:
			out = AppendSection(out, s.ID, payload)
		}
	}
	return out
}

func (m *Module) trappingBodies() []byte {
	body := []byte{3, 0, OpUnreachable, OpEnd} // its size, no locals, the code
	code := AppendU32(make([]byte, 0, 8+len(m.Bodies)*len(body)), uint32(len(m.Bodies)))
	for range m.Bodies {
		code = append(code, body...)
	}
	return code
}

func (m *Module) emptied(which func(Data) bool) []byte {
	out := AppendU32(nil, uint32(len(m.Data)))
	for _, d := range m.Data {
		if which != nil && which(d) {
			d.Bytes = nil
		}
		out = AppendData(out, d)
	}
	return out
}
