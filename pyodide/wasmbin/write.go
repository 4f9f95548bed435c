package wasmbin

import "encoding/binary"

// AppendU32 appends an unsigned LEB128 number.
func AppendU32(b []byte, v uint32) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return binary.AppendUvarint(b, uint64(v))
}

// AppendS64 appends a signed LEB128 number. It is right for the smaller signed
// types, too.
func AppendS64(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// AppendName appends a string with its length.
func AppendName(b []byte, s string) []byte {
	return append(AppendU32(b, uint32(len(s))), s...)
}

// appendValTypes appends types without their number.
func appendValTypes(b []byte, ts []ValType) []byte {
	for _, t := range ts {
		b = append(b, byte(t))
	}
	return b
}

// AppendFuncType appends a function type.
func AppendFuncType(b []byte, t FuncType) []byte {
	b = AppendU32(append(b, 0x60), uint32(len(t.Params)))
	b = appendValTypes(b, t.Params)
	b = AppendU32(b, uint32(len(t.Results)))
	return appendValTypes(b, t.Results)
}

// AppendLimits appends the size of a table or memory.
func AppendLimits(b []byte, l Limits) []byte {
	f := byte(0)
	if l.HasMax {
		f |= 1
	}
	if l.Shared {
		f |= 2
	}
	b = AppendU32(append(b, f), l.Min)
	if l.HasMax {
		b = AppendU32(b, l.Max)
	}
	return b
}

// AppendTable appends a table's type.
func AppendTable(b []byte, t Table) []byte { return AppendLimits(append(b, byte(t.Type)), t.Limits) }

// AppendGlobalType appends a global's type.
func AppendGlobalType(b []byte, t ValType, mutable bool) []byte {
	b = append(b, byte(t), 0)
	if mutable {
		b[len(b)-1] = 1
	}
	return b
}

// AppendImport appends an import of m, from the given module.
func AppendImport(b []byte, m *Module, im Import, from string) []byte {
	b = append(AppendName(AppendName(b, from), im.Name), byte(im.Kind))
	switch im.Kind {
	case KindFunc:
		return AppendU32(b, m.Funcs[im.Index])
	case KindTable:
		return AppendTable(b, m.Tables[im.Index])
	case KindMemory:
		return AppendLimits(b, m.Memories[im.Index])
	case KindGlobal:
		return AppendGlobalType(b, m.Globals[im.Index].Type, m.Globals[im.Index].Mutable)
	}
	return AppendU32(append(b, 0), m.Tags[im.Index]) // a tag
}

// AppendExport appends an export.
func AppendExport(b []byte, name string, k Kind, index uint32) []byte {
	return AppendU32(append(AppendName(b, name), byte(k)), index)
}

// AppendI32Const appends i32.const.
func AppendI32Const(b []byte, v int32) []byte { return AppendS64(append(b, OpI32Const), int64(v)) }

// AppendOp appends an instruction with one index.
func AppendOp(b []byte, op byte, index uint32) []byte { return AppendU32(append(b, op), index) }

// AppendSection appends a section; parts are joined.
func AppendSection(b []byte, id SectionID, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b = AppendU32(append(b, byte(id)), uint32(n))
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}
