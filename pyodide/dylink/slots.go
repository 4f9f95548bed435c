package dylink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/order"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

var errTableFull = errors.New("the table of functions is full")

// slotChunk is how many slots the table grows by at least.
const slotChunk = 64

// takeSlots returns n slots in a row, the first a multiple of align.
func (l *Linker) takeSlots(ctx context.Context, n, align uint32) (uint32, error) {
	l.changes++
	for i, f := range l.slots.free {
		start, ok := alignUp(f.start, align)
		if skip := start - f.start; ok && skip < f.n && f.n-skip >= n {
			l.slots.free = slices.Delete(l.slots.free, i, i+1)
			l.freeSlots(f.start, skip)
			l.freeSlots(start+n, f.n-skip-n)
			return start, nil
		}
	}
	want := max(n+align-1, slotChunk)
	start, err := l.call(ctx, l.c.Grow, want)
	if err != nil {
		return 0, err
	}
	if start == ^uint32(0) {
		return 0, errTableFull
	}
	l.freeSlots(start, want)
	return l.takeSlots(ctx, n, align)
}

// freeSlots returns slots to the free list. They must be empty.
func (l *Linker) freeSlots(start, n uint32) {
	if n == 0 {
		return
	}
	f := l.slots.free
	i, _ := slices.BinarySearchFunc(f, start, func(s span, at uint32) int { return cmp.Compare(s.start, at) })
	if i > 0 && f[i-1].start+f[i-1].n == start {
		i--
		f[i].n += n
	} else {
		f = slices.Insert(f, i, span{start, n})
	}
	if i+1 < len(f) && f[i].start+f[i].n == f[i+1].start {
		f[i].n += f[i+1].n
		f = slices.Delete(f, i+1, i+2)
	}
	l.slots.free = f
}

// clear empties slots, so that they can be given back.
func (l *Linker) clear(ctx context.Context, start, n uint32) error {
	l.changes++
	if l.helper == nil {
		var b wasmbin.Builder
		b.ImportTable(mainName, tableName, wasmbin.Table{Type: wasmbin.FuncRef})
		body := []byte{wasmbin.OpLocalGet, 0, wasmbin.OpRefNull, byte(wasmbin.FuncRef), wasmbin.OpLocalGet, 1}
		body = wasmbin.AppendU32(append(body, wasmbin.PrefixMisc, wasmbin.MiscTableFill), 0)
		b.Export("clear", wasmbin.KindFunc, b.Func(i32Func(2, 0), nil, body))
		m, err := l.Generate(ctx, b.Bytes())
		if err != nil {
			return err
		}
		l.helper = m
	}
	if _, err := l.helper.ExportedFunction("clear").Call(ctx, uint64(start), uint64(n)); err != nil {
		return hostfn.Trap{Err: err}
	}
	for s := start; s < start+n; s++ {
		if _, ok := l.slots.types[s]; ok {
			delete(l.slots.types, s)
			l.putArity(s, noArity)
		}
	}
	return nil
}

// noArity marks slots that the call trampoline must not call.
const noArity = 255

// setType records what is in a slot, for the call trampoline and for libffi.
func (l *Linker) setType(ctx context.Context, slot uint32, t wasmbin.FuncType) error {
	l.changes++
	if err := l.growArity(ctx, slot); err != nil {
		return err
	}
	l.slots.types[slot] = t
	l.putArity(slot, l.c.Arity(t))
	return nil
}

func (l *Linker) putArity(slot uint32, arity byte) {
	table, n := l.arity()
	if slot < n {
		l.c.Mem.Put(table+slot, []byte{arity})
	}
}

func (l *Linker) arity() (table, n uint32) {
	get := func(name string) uint32 { return uint32(l.c.Instance.ExportedGlobal(name).Get()) }
	return get(l.c.ArityTable), get(l.c.ArityLen)
}

// growArity makes the trampoline's table reach a slot.
func (l *Linker) growArity(ctx context.Context, slot uint32) error {
	table, n := l.arity()
	if slot < n {
		return nil
	}
	want := max(slot+1, n+n/2)
	p, err := l.call(ctx, "realloc", table, want)
	if err != nil {
		return err
	}
	if p == 0 {
		return errNoMemory
	}
	b, ok := l.c.Mem.Bytes(p+n, want-n)
	if !ok {
		return errOutOfRange
	}
	for i := range b {
		b[i] = noArity
	}
	set := func(name string, v uint32) error {
		g, ok := l.c.Instance.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("the main module has no mutable global %s", name)
		}
		g.Set(uint64(v))
		return nil
	}
	return errors.Join(set(l.c.ArityTable, p), set(l.c.ArityLen, want))
}

var (
	errNoMemory   = errors.New("out of memory")
	errOutOfRange = errors.New("address out of range")
)

// flush fills the slots that address has given out. A host can write a table
// only through a module's element segments.
func (l *Linker) flush(ctx context.Context) error {
	p := l.slots.pending
	if len(p) == 0 {
		return nil
	}
	for _, s := range p {
		if err := l.setType(ctx, s.slot, s.typ); err != nil {
			return err
		}
	}
	if _, err := l.Generate(ctx, slotModule(p)); err != nil {
		return fmt.Errorf("fill %d table slots: %w", len(p), err)
	}
	l.slots.filled = append(l.slots.filled, p...)
	l.slots.pending = nil
	return nil
}

// slotModule generates a module whose element segments fill slots; it sorts p.
func slotModule(p []pendingSlot) []byte {
	order.By(p, func(a, b pendingSlot) int { return cmp.Compare(a.slot, b.slot) })
	var b wasmbin.Builder
	b.ImportTable(mainName, tableName, wasmbin.Table{Type: wasmbin.FuncRef})
	funcs := make([]uint32, len(p))
	for i, s := range p {
		funcs[i] = b.ImportFunc(s.in.module, s.export, s.typ)
	}
	for i := 0; i < len(p); {
		j := i + 1
		for j < len(p) && p[j].slot == p[j-1].slot+1 {
			j++
		}
		b.Elements(0, p[i].slot, funcs[i:j])
		i = j
	}
	return b.Bytes()
}

// dropPending takes back what address has given out since.
func (l *Linker) dropPending() {
	for _, s := range l.slots.pending {
		delete(s.in.added, s.fn)
		if _, ok := l.slots.types[s.slot]; ok {
			delete(l.slots.types, s.slot)
			l.putArity(s.slot, noArity)
		}
		l.freeSlots(s.slot, 1)
	}
	l.slots.pending = nil
}

// address returns the address of a symbol, for a GOT entry or dlsym. A function without a
// slot gets one; flush puts it there.
func (l *Linker) address(ctx context.Context, s symbol) (uint32, error) {
	if s.kind != wasmbin.KindFunc {
		return s.in.memory + s.addr, nil
	}
	if v, ok := s.in.slot(s.fn); ok {
		return v, nil
	}
	v, err := l.takeSlots(ctx, 1, 1)
	if err != nil {
		return 0, err
	}
	s.in.added[s.fn] = v
	l.slots.pending = append(l.slots.pending, pendingSlot{v, s})
	return v, nil
}
