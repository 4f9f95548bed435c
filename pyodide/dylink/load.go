package dylink

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// errBusy is the answer to a dlopen or dlsym from within a start function,
// while tables are half made.
var errBusy = errors.New("a library is being loaded")

// open loads a library, or returns one that is loaded.
func (l *Linker) open(ctx context.Context, name string, global bool) (*library, error) {
	if l.loading || l.closed {
		return nil, errBusy
	}
	l.names()
	p, root, err := l.prepare(ctx, name)
	if err != nil {
		return nil, err
	}
	if global {
		l.publish(root)
	}
	return root, p.start(ctx)
}

// prepare brings libraries to where their code can run, or leaves nothing.
func (l *Linker) prepare(ctx context.Context, name string) (*load, *library, error) {
	l.loading = true
	defer func() { l.loading = false }()
	p, root, err := l.plan(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if err := p.allocate(ctx); err != nil {
		if hostfn.Trapped(err) {
			return nil, nil, err
		}
		return nil, nil, errors.Join(err, p.undo(ctx))
	}
	p.commit()
	return p, root, nil
}

// allocate takes memory and slots for all libraries and instantiates them.
func (p *load) allocate(ctx context.Context) error {
	for _, d := range p.libs {
		if err := p.take(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d.path, err)
		}
	}
	for _, d := range p.libs {
		if err := p.instantiate(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d.path, err)
		}
	}
	return p.l.flush(ctx)
}

// take reserves the library's part of memory and table.
func (p *load) take(ctx context.Context, d *library) (err error) {
	i, l := d.Image, p.l
	if i.memorySize > 0 {
		if d.alloc, err = l.call(ctx, "calloc", i.memorySize+i.memoryAlign, 1); err != nil {
			return err
		}
		at, ok := alignUp(d.alloc, i.memoryAlign)
		if d.alloc == 0 || !ok {
			return fmt.Errorf("%w: it wants %d bytes", errNoMemory, i.memorySize)
		}
		d.memory = at
	}
	if i.tableSize > 0 {
		if d.base, err = l.takeSlots(ctx, i.tableSize, i.tableAlign); err != nil {
			return err
		}
		d.hasSlots = true
		return l.growArity(ctx, d.base+i.tableSize-1)
	}
	return nil
}

// instantiate makes the library's instance.
func (p *load) instantiate(ctx context.Context, d *library) (err error) {
	l := p.l
	if err := p.writeGOT(ctx, d); err != nil {
		return err
	}
	d.from = map[string]string{}
	for _, b := range p.bound[d] {
		switch {
		case b.thunk != noThunk:
			d.from[b.name] = envModule
		case b.in.module != mainName:
			d.from[b.name] = b.in.module
		}
	}
	if d.env, err = l.envModuleOf(ctx, d, p.bound[d]); err != nil {
		return err
	}
	for _, s := range d.Data {
		if !l.c.Mem.Put(d.memory+s.Addr, s.Bytes) {
			return fmt.Errorf("write %d bytes of data: %w", len(s.Bytes), errNoMemory)
		}
	}
	l.instances++
	d.module = fmt.Sprintf("lib%d", l.instances)
	if err := l.makeInstance(ctx, d); err != nil {
		return err
	}
	for slot, t := range d.Image.types {
		l.putArity(d.base+slot, l.c.Arity(t))
	}
	return nil
}

// writeGOT writes the addresses that the library takes of symbols.
func (p *load) writeGOT(ctx context.Context, d *library) error {
	words := make([]byte, 0, 4*len(p.got[d]))
	for _, g := range p.got[d] {
		v := uint32(0)
		if g.in != nil {
			var err error
			if v, err = p.l.address(ctx, g.symbol); err != nil {
				return err
			}
		}
		words = binary.LittleEndian.AppendUint32(words, v)
	}
	if len(words) > 0 && !p.l.c.Mem.Put(d.memory+d.Image.gotAt, words) {
		return errOutOfRange
	}
	return nil
}

// makeInstance makes the instance of a library that has its place and its
// environment.
func (l *Linker) makeInstance(ctx context.Context, d *library) error {
	m, err := l.Generate(ctx, d.env)
	if err != nil {
		return err
	}
	d.envMod, l.starting = m, d
	defer func() { l.starting = nil }()
	d.mod, err = l.c.Instantiate(l.libraryResolver(ctx, d, map[string]api.Module{envModule: m}), d.Code)
	if err != nil {
		if d.Image.start {
			return hostfn.Trap{Err: err} // its code may have run
		}
		return err
	}
	l.glue = append(l.glue, d.mod)
	if l.takeException() {
		return hostfn.Trap{Err: errors.New("an exception left the start function")}
	}
	l.modules[d.module] = d.mod
	return nil
}

// undo releases what allocate has taken.
func (p *load) undo(ctx context.Context) (err error) {
	l := p.l
	l.dropPending()
	made := len(l.glue)
	for _, d := range p.libs {
		delete(l.modules, d.module)
		if d.hasSlots {
			if err := l.clear(ctx, d.base, d.Image.tableSize); err != nil {
				return err
			}
			l.freeSlots(d.base, d.Image.tableSize)
		}
		if d.alloc != 0 {
			if _, err := l.call(ctx, "free", d.alloc); err != nil {
				return err
			}
		}
	}
	for i := made - 1; i >= p.glue; i-- {
		err = errors.Join(err, l.glue[i].Close(ctx))
	}
	l.glue = append(l.glue[:p.glue], l.glue[made:]...)
	return err
}

// commit makes the libraries known: from here on they are loaded.
func (p *load) commit() {
	l := p.l
	for _, d := range p.libs {
		d.ready = true
		l.libs[d.path] = d
		l.order = append(l.order, d)
		for name := range d.Image.exports {
			if s, ok := d.symbol(name); ok {
				if _, taken := l.defs[name]; !taken {
					l.defs[name] = s
				}
			}
		}
	}
}

// publish makes a library's symbols, and those of the libraries it needs, seen
// by all that are loaded later.
func (l *Linker) publish(d *library) {
	if d.published {
		return
	}
	d.published = true
	for _, n := range d.needs {
		l.publish(n)
	}
	for name := range d.Image.exports {
		if s, ok := d.symbol(name); ok {
			if _, taken := l.global[name]; !taken {
				l.global[name] = s
			}
		}
	}
}

// start relocates data and runs constructors, those of needed libraries first.
func (p *load) start(ctx context.Context) error {
	for _, export := range []string{"__wasm_apply_data_relocs", "__wasm_call_ctors"} {
		for i, d := range p.libs {
			if d.Image.exports[export].kind != wasmbin.KindFunc || d.Image.exports[export].export == "" {
				continue
			}
			f := d.mod.ExportedFunction(export)
			// Not from f.Definition(), which describes each function of the module.
			t := d.Image.exports[export].typ
			stack := make([]uint64, max(1, len(t.Params), len(t.Results)))
			if err := f.CallWithStack(ctx, stack); err != nil {
				return hostfn.Trap{Err: fmt.Errorf("%s: %s: %w", d.path, export, err)}
			}
			if p.l.takeException() {
				p.withdraw(i)
				return fmt.Errorf("%s: %s: an exception", d.path, export)
			}
		}
	}
	return nil
}

// withdraw takes back the names of the libraries from the one at place i on.
func (p *load) withdraw(i int) {
	l := p.l
	gone := map[*library]bool{}
	for _, d := range p.libs[i:] {
		gone[d] = true
		delete(l.libs, d.path)
	}
	for h, d := range l.handles {
		if gone[d] {
			delete(l.handles, h)
		}
	}
	for _, table := range []map[string]symbol{l.defs, l.global} {
		for name, s := range table {
			if gone[s.in.lib] {
				delete(table, name)
			}
		}
	}
}

// names makes the tables of names that a restored state left out: there are
// thousands, and most programs load nothing more.
func (l *Linker) names() {
	s := l.restored
	if s == nil {
		return
	}
	l.restored = nil
	for _, table := range []struct {
		to   map[string]symbol
		from map[string]int
	}{{l.global, s.Global}, {l.defs, s.Defined}} {
		for name, i := range table.from {
			if sym, ok := l.order[i].symbol(name); ok {
				table.to[name] = sym
			}
		}
	}
}
