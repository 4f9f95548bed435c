package wasmbin

// GOT is the global offset table of a rewritten side module. Toolchains import
// a mutable global for each address; a rewriter replaces them by words in the
// module's memory and lists them in a custom section.
type GOT struct {
	Offset uint32   // of the first word, from __memory_base
	Names  []string // of the symbols, one for each word
}

// gotSection is the name of that custom section.
const gotSection = "coderunner.got"

// AppendGOT appends the custom section of a table.
func AppendGOT(b []byte, t GOT) []byte {
	body := AppendU32(AppendU32(nil, t.Offset), uint32(len(t.Names)))
	for _, name := range t.Names {
		body = AppendName(body, name)
	}
	return AppendSection(b, SecCustom, AppendName(nil, gotSection), body)
}

// GOT reads the module's global offset table; without the section it is empty.
func (m *Module) GOT() (t GOT, err error) {
	for _, s := range m.Sections {
		if s.ID != SecCustom || s.Name != gotSection {
			continue
		}
		r := NewReader(m.Bytes, s.Start, s.End, gotSection)
		t = GOT{Offset: r.U32(), Names: r.names()}
		if r.err != nil {
			return GOT{}, r.err
		}
		if uint64(t.Offset)+4*uint64(len(t.Names)) > 1<<32 {
			return GOT{}, &FormatError{gotSection, s.Start, "past the end of memory"}
		}
		return t, nil
	}
	return GOT{}, nil
}
