package dylink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/wasmbin"
)

const (
	ownerMain = -1
	ownerHost = -2
)

// State describes what has been loaded. It must not be called while guest code
// runs. Functions that libffi has put into slots are not part of it.
func (l *Linker) State() (*State, error) {
	l.names()
	s := &State{Instances: l.instances, Handles: map[uint32]int{}, Global: map[string]int{}, Defined: map[string]int{}}
	place := map[*library]int{nil: ownerMain}
	for i, d := range l.order {
		place[d] = i
	}
	for _, d := range l.order {
		ls := LibraryState{Path: d.path, Digest: d.Digest, Module: d.module, Memory: d.memory, Base: d.base,
			HasSlots: d.hasSlots, Published: d.published, Known: l.libs[d.path] == d, Env: d.env, From: d.from, Globals: map[string]uint64{}}
		for _, n := range d.needs {
			ls.Needs = append(ls.Needs, place[n])
		}
		for _, name := range d.Image.mutable {
			ls.Globals[name] = d.mod.ExportedGlobal(name).Get()
		}
		if d.Image.opaque {
			return nil, fmt.Errorf("%s: it has variables that cannot be recorded", d.path)
		}
		s.Libraries = append(s.Libraries, ls)
	}
	for h, d := range l.handles {
		s.Handles[h] = place[d]
	}
	for name, sym := range l.global {
		s.Global[name] = place[sym.in.lib]
	}
	for name, sym := range l.defs {
		s.Defined[name] = place[sym.in.lib]
	}
	for _, f := range l.slots.free {
		s.Free = append(s.Free, [2]uint32{f.start, f.n})
	}
	for _, f := range l.slots.filled {
		owner := ownerHost
		switch {
		case f.in.lib != nil:
			owner = place[f.in.lib]
		case f.in == l.main:
			owner = ownerMain
		}
		s.Filled = append(s.Filled, SlotState{f.slot, owner, f.in.module, f.export, f.fn, f.typ})
	}
	return s, nil
}

// Restore does again what a state describes, in a new linker, whose main
// module's memory and table have the size that they had; the memory's contents
// must be restored after it, since libraries bring their data. open returns the
// library with a digest.
func (l *Linker) Restore(ctx context.Context, s *State, open func(context.Context, LibraryState) (*Library, error)) error {
	l.loading = true
	defer func() { l.loading = false }()
	for _, ls := range s.Libraries {
		if err := l.restoreLibrary(ctx, ls, open); err != nil {
			return fmt.Errorf("%s: %w", ls.Path, err)
		}
	}
	l.instances = s.Instances
	at := func(i int) (*library, error) {
		if i == ownerMain {
			return nil, nil
		}
		if i < 0 || i >= len(l.order) {
			return nil, errBadState
		}
		return l.order[i], nil
	}
	var err error
	for i, ls := range s.Libraries {
		for _, n := range ls.Needs {
			d, e := at(n)
			l.order[i].needs, err = append(l.order[i].needs, d), errors.Join(err, e)
		}
	}
	for h, i := range s.Handles {
		d, e := at(i)
		l.handles[h], err = d, errors.Join(err, e)
	}
	for _, names := range []map[string]int{s.Global, s.Defined} {
		for _, i := range names {
			if i < 0 || i >= len(l.order) {
				return errBadState
			}
		}
	}
	l.restored = s
	for _, f := range s.Free {
		l.slots.free = append(l.slots.free, span{f[0], f[1]})
	}
	if err != nil {
		return err
	}
	return l.restoreSlots(ctx, s.Filled)
}

// Reset sets the libraries' variables to the values that they have in the state of
// which the linker was restored, and that is still its own ([Linker.Changes]).
func (l *Linker) Reset(s *State) error {
	if len(s.Libraries) != len(l.order) {
		return errBadState
	}
	for i, ls := range s.Libraries {
		if err := l.order[i].setGlobals(ls); err != nil {
			return err
		}
	}
	return nil
}

// setGlobals sets the library's mutable globals to their recorded values.
func (d *library) setGlobals(ls LibraryState) error {
	for name, v := range ls.Globals {
		g, ok := d.mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return errBadState
		}
		g.Set(v)
	}
	return nil
}

var errBadState = errors.New("the state of the dynamic linker is damaged")

// restoreLibrary instantiates a library where it was.
func (l *Linker) restoreLibrary(ctx context.Context, ls LibraryState, open func(context.Context, LibraryState) (*Library, error)) error {
	lib, err := open(ctx, ls)
	if err != nil {
		return err
	}
	d := &library{Library: lib, path: ls.Path, hasSlots: ls.HasSlots, ready: true, published: ls.Published, env: ls.Env, from: ls.From,
		object: object{module: ls.Module, static: lib.Image.slots, base: ls.Base, memory: ls.Memory, added: map[uint32]uint32{}}}
	d.object.lib = d
	if err := l.makeInstance(ctx, d); err != nil {
		return err
	}
	// A snapshot leaves out pages that are zero, and instantiation may have
	// brought the library's data or written something of its own.
	if d.Data == nil || d.Image.start {
		if err := l.c.Zero(d.memory, d.Image.memorySize); err != nil {
			return err
		}
	}
	if err := d.setGlobals(ls); err != nil {
		return err
	}
	l.order = append(l.order, d)
	if ls.Known {
		l.libs[d.path] = d
	}
	return nil
}

// restoreSlots fills slots with functions again.
func (l *Linker) restoreSlots(ctx context.Context, filled []SlotState) error {
	if len(filled) == 0 {
		return nil
	}
	for _, f := range filled {
		in := l.main
		switch {
		case f.Owner == ownerHost:
			h, ok := l.host[f.Export]
			if !ok {
				return errBadState
			}
			in = h.in
		case f.Owner >= 0 && f.Owner < len(l.order):
			in = &l.order[f.Owner].object
		case f.Owner != ownerMain:
			return errBadState
		}
		in.added[f.Func] = f.Slot
		l.slots.filled = append(l.slots.filled, pendingSlot{f.Slot, symbol{definition{f.Export, wasmbin.KindFunc, f.Func, f.Type, 0}, in}})
		l.slots.types[f.Slot] = f.Type
	}
	_, err := l.Generate(ctx, slotModule(slices.Clone(l.slots.filled)))
	return err
}
