package rewrite

import (
	"fmt"
	"slices"

	"coderunner/pyodide/wasmbin"
)

// noThrow are functions of libc and CPython that call nothing back.
var noThrow = []string{"memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcmp", "strncmp", "malloc", "free",
	"calloc", "realloc", "Py_IncRef", "_Py_IncRef", "__wasm_setjmp", "__wasm_setjmp_test", "__cxa_begin_catch",
	"__cxa_allocate_exception", "emscripten_resize_heap", "emscripten_get_now",
	threadHost}

// scan is the first pass over the code: which functions may leave an exception
// pending, and which globals are used.
func (r *rewriter) scan() error {
	if err := r.numberTags(); err != nil {
		return err
	}
	if err := r.findBodies(); err != nil {
		return err
	}
	if err := r.inline(); err != nil {
		return err
	}
	m := r.m
	r.mayThrow = make([]bool, len(m.Funcs))
	r.used = make([]bool, len(m.Globals))
	var work []uint32
	for _, im := range m.Imports {
		if im.Kind == wasmbin.KindFunc && r.importThrows(im) {
			r.mayThrow[im.Index] = true
			work = append(work, im.Index)
		}
	}
	calls := make([][]uint32, len(r.bodies)) // by caller, no duplicates in a row
	for i := range r.bodies {
		self := uint32(i + m.ImportedFuncs)
		c, err := r.scanBody(i)
		if err != nil {
			return err
		}
		calls[i] = c
		if r.bodies[i].throws {
			r.mayThrow[self] = true
			work = append(work, self)
		}
	}
	r.close(calls, work)
	for i := range r.bodies {
		b := &r.bodies[i]
		b.eh = b.tries || b.throws || slices.ContainsFunc(calls[i], func(f uint32) bool { return r.mayThrow[f] })
		if r.mayThrow[i+m.ImportedFuncs] {
			r.stats.MayThrow++
		}
	}
	r.stats.Funcs = len(r.bodies)
	r.anyWide = slices.ContainsFunc(r.bodies, func(b body) bool { return b.labels >= manyLabels })
	for _, g := range m.Globals {
		g.Init.Globals(func(_, _ int, g uint32) { r.used[g] = true })
	}
	return nil
}

// importThrows reports whether an imported function may return with an exception
// pending. A host function may: it may call into wasm.
func (r *rewriter) importThrows(im wasmbin.Import) bool {
	return (im.Module != "wasi_snapshot_preview1" || r.o.Side) && (im.Module != "env" || !slices.Contains(noThrow, im.Name))
}

// close marks all that calls, through any number of functions, one in work.
func (r *rewriter) close(calls [][]uint32, work []uint32) {
	n := make([]uint32, len(r.m.Funcs)+1)
	for _, cs := range calls {
		for _, f := range cs {
			n[f+1]++
		}
	}
	for i := 1; i < len(n); i++ {
		n[i] += n[i-1]
	}
	callers := make([]uint32, n[len(n)-1])
	next := slices.Clone(n)
	for i, cs := range calls {
		for _, f := range cs {
			callers[next[f]] = uint32(i + r.m.ImportedFuncs)
			next[f]++
		}
	}
	for len(work) > 0 {
		f := work[len(work)-1]
		work = work[:len(work)-1]
		for _, c := range callers[n[f]:n[f+1]] {
			if !r.mayThrow[c] {
				r.mayThrow[c] = true
				work = append(work, c)
			}
		}
	}
}

func (r *rewriter) scanBody(i int) (calls []uint32, err error) {
	b := &r.bodies[i]
	c := r.m.CodeOf(b.b, b.at, r.m.FuncType(uint32(i+r.m.ImportedFuncs)))
	var in wasmbin.Instr
	for c.Next(&in) {
		switch in.Op {
		case wasmbin.OpCall, wasmbin.OpReturnCall:
			if n := len(calls); n == 0 || calls[n-1] != in.A {
				calls = append(calls, in.A)
			}
		case wasmbin.OpCallIndirect, wasmbin.OpReturnCallIndirect, wasmbin.OpThrow:
			b.throws = true
		case wasmbin.OpTry, wasmbin.OpCatch, wasmbin.OpCatchAll, wasmbin.OpDelegate:
			b.tries = true
		case wasmbin.OpI32Const:
			if err := r.checkThreadWords(&in); err != nil {
				return nil, err
			}
		case wasmbin.OpBrTable:
			b.labels = max(b.labels, in.A)
		case wasmbin.OpRethrow:
			b.tries, b.throws = true, true
		case wasmbin.OpGlobalGet, wasmbin.OpGlobalSet:
			r.used[in.A] = true
			if in.Op == wasmbin.OpGlobalSet {
				if err := r.checkSet(&in); err != nil {
					return nil, err
				}
			}
		case wasmbin.OpTableSet:
			if r.o.Side {
				return nil, r.fail("code", in.Start, errTables)
			}
		case wasmbin.PrefixMisc:
			if err := r.scanMisc(&in); err != nil {
				return nil, err
			}
		}
	}
	return calls, c.Err()
}

// Libraries that change state which a snapshot does not record and a reset does not
// undo are refused: the next interpreter of the instance would see it. Compilers of
// C, C++ and Rust do not emit such code.
const (
	errTables   = "a shared library may not change a table of functions"
	errSegments = "a shared library may not drop data or element segments"
	errGlobals  = "a shared library may not set an imported global other than __stack_pointer"
)

// checkSet refuses to set imported globals: those of a lean module are no longer
// imported, and those of a library belong to others, too.
func (r *rewriter) checkSet(in *wasmbin.Instr) error {
	switch {
	case int(in.A) >= r.m.ImportedGlobals:
		return nil
	case r.o.Lean:
		return r.fail("code", in.Start, "lean form: the code sets an imported global")
	case r.o.Side && !slices.ContainsFunc(r.m.Imports, func(im wasmbin.Import) bool {
		return im.Kind == wasmbin.KindGlobal && im.Index == in.A && im.Module == "env" && im.Name == "__stack_pointer"
	}):
		return r.fail("code", in.Start, errGlobals)
	}
	return nil
}

func (r *rewriter) scanMisc(in *wasmbin.Instr) error {
	switch in.Sub {
	case wasmbin.MiscTableInit, wasmbin.MiscTableCopy, wasmbin.MiscTableGrow, wasmbin.MiscTableFill:
		if r.o.Side {
			return r.fail("code", in.Start, errTables)
		}
	case wasmbin.MiscDataDrop, wasmbin.MiscElemDrop:
		if r.o.Side {
			return r.fail("code", in.Start, errSegments)
		}
	}
	if in.Sub != wasmbin.MiscMemoryInit && in.Sub != wasmbin.MiscDataDrop {
		return nil
	}
	if r.o.Lean {
		return r.fail("code", in.Start, "lean form: the code uses data segments")
	}
	// A segment within one chunk needs no helper: a larger size traps at once.
	if in.Sub == wasmbin.MiscMemoryInit && r.fuel > 0 && len(r.m.Data[in.A].Bytes) > bulkChunk {
		r.inits[in.A] = 0
	}
	return nil
}

// findBodies locates the code of each function, replaced or not.
func (r *rewriter) findBodies() error {
	r.bodies = make([]body, len(r.m.Bodies))
	for i, at := range r.m.Bodies {
		r.bodies[i] = body{b: r.in, at: at, places: itself}
	}
	for _, nb := range slices.Concat(r.o.Bodies, r.threads.bodies) {
		f, ok := r.m.ExportedFunc(nb.Export)
		i := int(f) - r.m.ImportedFuncs
		if !ok || i < 0 {
			return fmt.Errorf("rewrite: replace %s: the module exports no function of its own under this name", nb.Export)
		}
		for _, e := range r.m.Exports {
			if e.Kind == wasmbin.KindFunc && e.Index == f && e.Name != nb.Export && !nb.Aliases {
				return fmt.Errorf("rewrite: replace %s: %s has the same code", nb.Export, e.Name)
			}
		}
		b, err := nb.Build(Names{r.m})
		if err != nil {
			return fmt.Errorf("rewrite: replace %s: %w", nb.Export, err)
		}
		at, ferr := r.m.ReadBody(b, 0, len(b))
		if ferr != nil {
			return fmt.Errorf("rewrite: replace %s: %w", nb.Export, error(ferr))
		}
		r.bodies[i] = body{b: b, at: at, places: itself}
	}
	if r.o.Threads {
		return r.patchJoin()
	}
	return nil
}
