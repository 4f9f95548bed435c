package wasmbin

// Dylink is the section dylink.0 of a side module (and of a main module, where
// it says little).
type Dylink struct {
	MemorySize, MemoryAlign uint32 // bytes; the alignment is a power of two's exponent
	TableSize, TableAlign   uint32 // elements; likewise
	Needed                  []string
	Imports                 []DylinkImport
	RuntimePath             []string
}

// DylinkImport has the flags of an import.
type DylinkImport struct {
	Module, Name string
	Flags        uint32
}

// Flags of symbols, from the tool convention "Linking".
const (
	symbolBindingMask = 3
	SymbolBindingWeak = 1
)

// Weak reports whether the import may stay unresolved.
func (i DylinkImport) Weak() bool { return i.Flags&symbolBindingMask == SymbolBindingWeak }

// Sub-sections of dylink.0.
const (
	dylinkMemInfo = 1 + iota
	dylinkNeeded
	_ // flags of exports
	dylinkImportInfo
	dylinkRuntimePath
)

func (r *Reader) dylink() *Dylink {
	d := &Dylink{}
	for r.Len() > 0 {
		id := r.Byte()
		n := r.Count("bytes in a sub-section", 1, maxModule)
		q := NewReader(r.b, r.pos, r.pos+n, "dylink.0")
		r.Bytes(n)
		switch id {
		case dylinkMemInfo:
			at := q.pos
			d.MemorySize, d.MemoryAlign = q.U32(), q.U32()
			d.TableSize, d.TableAlign = q.U32(), q.U32()
			if d.MemoryAlign > 31 || d.TableAlign > 31 || d.TableSize > maxTableSize {
				q.Fail(at, "table of %d elements, alignments 2^%d and 2^%d", d.TableSize, d.MemoryAlign, d.TableAlign)
			}
		case dylinkNeeded:
			d.Needed = q.names()
		case dylinkImportInfo:
			for n := q.Count("imports", 3, maxImports); n > 0 && q.err == nil; n-- {
				d.Imports = append(d.Imports, DylinkImport{q.Name(), q.Name(), q.U32()})
			}
		case dylinkRuntimePath:
			d.RuntimePath = q.names()
		}
		if q.err != nil {
			r.Fail(q.err.Off, "%s", q.err.Msg)
		}
	}
	return d
}
