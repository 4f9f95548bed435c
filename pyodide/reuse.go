package pyodide

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/linmem"
	"coderunner/pyodide/rewrite"
)

// An instance whose program has ended well can be made what it was before the
// program, and become another interpreter. What an instance is made of is its
// memory, its globals and its tables: the memory's pages that were written to,
// which the system knows, are written again from the snapshot, the globals are
// set, and an instance whose tables may have changed is not used again. All
// else of an interpreter is made anew.

// ownGlobals are those that rewrite adds, which are no part of a snapshot: at
// rest they are what they were at the start.
var ownGlobals = []string{rewrite.FlagGlobal, rewrite.ValueGlobal, rewrite.InterruptGlobal, rewrite.FuelGlobal}

// maxRewrite bounds what is written again, in bytes, and by that what an
// instance takes while it waits. Of a program that wrote more all pages are
// given up, so that they are the snapshot's again.
const maxRewrite = 1 << 20

// reusable says whether the instance of an interpreter that was closed can
// become another one's, as far as can be told at once.
func (in *Interp) reusable() bool {
	z := in.key.from
	return z != nil && in.unchanged(z.owner.Link) && in.memory.Committed() == z.image.Memory && !in.memory.Refused()
}

// strip takes the instance out of an interpreter that is reusable, so that
// nothing of what the program held waits with it, and gives back what is too
// much to be written again. It gives nil if that cannot be told; then all is as
// it was.
func (in *Interp) strip() *Interp {
	in.memory.Share(nil)
	ranges, err := in.memory.Written()
	if err != nil {
		return nil
	}
	old := &Interp{rt: in.rt, mod: in.mod, idle: in.idle, memory: in.memory, mem: in.mem, key: in.key, written: ranges, closed: true, dead: true}
	total := uint64(0)
	for _, r := range ranges {
		total += r.Length
	}
	if total > maxRewrite {
		for _, r := range ranges {
			if err := in.memory.Revert(r); err != nil {
				return nil
			}
		}
		old.written = nil
		old.idle = map[string]api.Function{} // their stacks may have grown as much
	}
	old.linking, in.linking = in.linking, &linking{in: in}
	old.linking.in = old
	return old
}

// reuse makes another interpreter, without files yet, of what strip gave. When
// it fails, the caller destroys that.
func (in *Interp) reuse() (*Interp, error) {
	z := in.key.from
	fresh := &Interp{
		rt: in.rt, mod: in.mod, idle: in.idle, memory: in.memory, mem: in.mem, deadline: startDeadline(0, 0, 0, nil, nil),
		functions: z.owner.Functions, initialized: true,
	}
	g := fresh.guest(context.Background())
	for _, t := range in.rt.module.info.Tables {
		if n, err := g.call(t.Size); err != nil || n != z.image.Tables[t.Size] {
			return nil, errors.Join(err, fmt.Errorf("table %s has %d elements", t.Export, n))
		}
	}
	if err := fresh.rewrite(z, in.written); err != nil {
		return nil, err
	}
	for _, name := range ownGlobals {
		if err := fresh.setGlobal(name, 0); err != nil {
			return nil, err
		}
	}
	if err := fresh.setGlobals(z.image); err != nil {
		return nil, err
	}
	if z.owner.Link != nil {
		if err := in.linker.Reset(z.owner.Link.Linker); err != nil {
			return nil, err
		}
	}
	if err := fresh.findSignals(); err != nil {
		return nil, err
	}
	fresh.linking, in.linking = in.linking, nil
	fresh.linking.in = fresh
	return fresh, nil
}

// rewrite makes the ranges of the memory what the snapshot has.
func (in *Interp) rewrite(z *Frozen, ranges []linmem.Range) error {
	z.reading.RLock()
	defer z.reading.RUnlock()
	if z.closed.Load() {
		return errClosed
	}
	contents, err := z.contents()
	if err != nil {
		return err
	}
	memory, ok := in.mod.Memory().Read(0, in.mod.Memory().Size())
	if !ok || len(memory) != len(contents) {
		return errOutOfRange
	}
	for _, r := range ranges {
		copy(memory[r.Offset:r.Offset+r.Length], contents[r.Offset:])
	}
	return nil
}

// mapContents maps the memory that the snapshot has. Its holes are zeros.
func (z *Frozen) mapContents() ([]byte, error) {
	b, unmap, err := mapOpen(z.image.File, z.image.Base+int64(z.image.Memory))
	if err != nil {
		return nil, err
	}
	z.unmap = unmap
	return b[z.image.Base:], nil
}
