package rewrite

import (
	"slices"

	"coderunner/pyodide/wasmbin"
)

// layout assigns the indices of additions and drops unused globals. Functions keep their indices.
func (r *rewriter) layout() error {
	r.layoutGlobals()
	if err := r.checkExprs(); err != nil {
		return err
	}
	r.addedMemory = len(r.m.Memories) == 0 && (r.fuel > 0 || len(r.got.table.Names) > 0) // for the safepoint and the table
	r.addHelpers()
	return nil
}

// gone is the new index of a dropped global.
const gone = ^uint32(0)

func (r *rewriter) layoutGlobals() {
	m := r.m
	exported := map[uint32]bool{}
	for _, e := range m.Exports {
		if e.Kind == wasmbin.KindGlobal && r.kept(e) {
			exported[e.Index] = true
		}
	}
	r.globals = make([]uint32, len(m.Globals))
	r.dropped = make([]bool, len(m.Globals))
	next := uint32(0)
	for i, g := range m.Globals {
		if i == m.ImportedGlobals && r.o.Side {
			next = r.sharedGlobals(r.placeBase(next))
		}
		if _, ok := r.got.offset(uint32(i)); ok {
			r.dropped[i] = true
			r.globals[i] = gone
			continue
		}
		if r.o.Lean && i >= m.ImportedGlobals && !g.Mutable && !r.used[i] && !exported[uint32(i)] {
			r.dropped[i] = true
			continue
		}
		r.globals[i] = next
		next++
	}
	if !r.o.Side || len(m.Globals) == m.ImportedGlobals {
		next = r.sharedGlobals(r.placeBase(next))
	}
	if r.fuel > 0 {
		r.tank = next
		next++
	}
	if r.o.Trampoline {
		r.arity, r.arityLen = next, next+1
		next += 2
	}
	r.nGlobals = next
}

// sharedGlobals places the globals that a main module defines and a side
// module imports.
func (r *rewriter) sharedGlobals(next uint32) uint32 {
	r.flag, r.val = next, next+1
	if r.fuel == 0 {
		return next + 2
	}
	r.stop = next + 2
	return next + 3
}

// checkExprs refuses constant expressions that read a dropped global.
func (r *rewriter) checkExprs() (err error) {
	check := func(section string, x wasmbin.Expr) {
		x.Globals(func(_, _ int, g uint32) {
			if r.globals[g] == gone {
				err = r.fail(section, 0, "a constant expression reads a mutable global")
			}
		})
	}
	for _, g := range r.m.Globals {
		check("global", g.Init)
	}
	for _, e := range r.m.Elements {
		check("element", e.Offset)
		for _, x := range e.Items {
			check("element", x)
		}
	}
	for _, d := range r.m.Data {
		check("data", d.Offset)
	}
	return err
}

// addHelper adds a function and returns its index. The body has no locals, and
// needs no final end.
func (r *rewriter) addHelper(params, results int, code []byte) uint32 {
	t := r.typeOf(wasmbin.FuncType{Params: i32s(params), Results: i32s(results)})
	c := append(append([]byte{0}, code...), wasmbin.OpEnd)
	r.helpers = append(r.helpers, helper{t, c})
	return uint32(len(r.m.Funcs) + len(r.helpers) - 1)
}

func (r *rewriter) addHelpers() {
	if r.fuel > 0 {
		r.tick = r.addHelper(0, 0, r.tickCode())
		if len(r.m.Memories) > 0 {
			r.fill = r.addHelper(3, 0, r.fillCode())
			r.copy = r.addHelper(3, 0, r.copyCode())
			r.copy = r.addHelper(3, 0, r.shortCode(r.copy))
		}
		segs := make([]uint32, 0, len(r.inits))
		for s := range r.inits {
			segs = append(segs, s)
		}
		slices.Sort(segs)
		for _, s := range segs {
			r.inits[s] = r.addHelper(3, 0, r.initCode(s))
		}
	}
	if r.anyWide && r.o.Skip&PassSpill == 0 {
		r.nothing = r.addHelper(0, 0, nil)
	}
	if r.o.Side {
		return
	}
	if r.o.Trampoline {
		r.tramp = r.addHelper(5, 1, r.trampolineCode())
	}
	if r.o.Threads {
		r.addThreadFuncs()
	}
	for i, t := range r.m.Tables {
		n := uint32(i)
		size := wasmbin.AppendU32([]byte{wasmbin.PrefixMisc, wasmbin.MiscTableSize}, n)
		grow := wasmbin.AppendU32([]byte{wasmbin.OpRefNull, byte(t.Type), wasmbin.OpLocalGet, 0, wasmbin.PrefixMisc, wasmbin.MiscTableGrow}, n)
		r.tableFuncs = append(r.tableFuncs, [2]uint32{r.addHelper(0, 1, size), r.addHelper(1, 1, grow)})
	}
}
