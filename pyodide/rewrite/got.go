package rewrite

import (
	"strings"

	"coderunner/pyodide/wasmbin"
)

// isGOT reports whether an import is an entry of the table.
func isGOT(im wasmbin.Import) bool {
	return im.Kind == wasmbin.KindGlobal && (im.Module == "GOT.mem" || im.Module == "GOT.func")
}

// findGOT plans the table and refuses modules that use imported globals in ways
// that no toolchain does.
func (r *rewriter) findGOT() error {
	if !r.o.Side {
		return nil
	}
	m, g := r.m, &r.got
	g.at = make([]uint32, m.ImportedGlobals)
	places := map[string]uint32{}
	for _, im := range m.Imports {
		if !isGOT(im) {
			continue
		}
		if t := m.Globals[im.Index]; t.Type != wasmbin.I32 || !t.Mutable {
			return r.fail("import", 0, "%s.%s has a wrong type", im.Module, im.Name)
		}
		if places[im.Name] == 0 {
			g.table.Names = append(g.table.Names, strings.Clone(im.Name))
			places[im.Name] = uint32(len(g.table.Names))
		}
		g.at[im.Index] = places[im.Name]
	}
	for _, e := range m.Exports {
		if e.Kind == wasmbin.KindGlobal && int(e.Index) < m.ImportedGlobals {
			return r.fail("export", 0, "%s is a global that the library imports", e.Name)
		}
	}
	if m.Dylink != nil {
		g.table.Offset = (m.Dylink.MemorySize + 3) &^ 3
	}
	if uint64(g.table.Offset)+4*uint64(len(g.table.Names)) > 1<<31 {
		return r.fail("dylink.0", 0, "%d bytes of memory", m.Dylink.MemorySize)
	}
	return nil
}

// offset returns where in the module's memory the word of an entry is.
func (g *got) offset(global uint32) (uint32, bool) {
	if int(global) >= len(g.at) || g.at[global] == 0 {
		return 0, false
	}
	return g.table.Offset + 4*(g.at[global]-1), true
}

// placeBase finds or adds the global that says where the module's memory begins.
func (r *rewriter) placeBase(next uint32) uint32 {
	if len(r.got.table.Names) == 0 {
		return next
	}
	for _, im := range r.m.Imports {
		if im.Kind == wasmbin.KindGlobal && im.Module == "env" && im.Name == "__memory_base" {
			r.got.base = r.globals[im.Index]
			return next
		}
	}
	r.got.base, r.got.added = next, true
	return next + 1
}

// readGOT reads an entry.
func (c *coder) readGOT(in *wasmbin.Instr, offset uint32) {
	c.replace(in)
	c.buf = wasmbin.AppendOp(c.buf, wasmbin.OpGlobalGet, c.r.got.base)
	c.buf = wasmbin.AppendU32(append(c.buf, wasmbin.OpI32Load, 2), offset)
}
