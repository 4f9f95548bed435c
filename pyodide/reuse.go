package pyodide

import (
	"context"
	"errors"
	"fmt"

	"coderunner/pyodide/lower"
	"coderunner/pyodide/snapshot"
)

// An instance whose program has ended well can be made what it was before the
// program, and become another interpreter. What an instance is made of is its
// memory, its globals and its tables: the memory's pages that were written to,
// which the system knows, are written again from the snapshot, the globals are
// set, and an instance whose tables may have changed is not used again. All
// else of an interpreter is made anew.

// ownGlobals are those that lower adds, which are no part of a snapshot: at
// rest they are what they were at the start.
var ownGlobals = []string{lower.FlagGlobal, lower.ValueGlobal, lower.InterruptGlobal, lower.FuelGlobal}

// maxRewrite bounds what is written again, in bytes, and by that what an
// interpreter takes while it waits. Of a program that wrote more all pages are
// given up, so that they are the snapshot's again.
const maxRewrite = 1 << 20

// reusable says whether the instance of an interpreter that was closed can
// become another one's, as far as can be told at once.
func (in *Interp) reusable() bool {
	z := in.key.from
	return z != nil && z.owner.Link == nil && in.linker == nil && in.ffi == nil && len(in.used)+len(in.spot) == 0 &&
		in.memory.Committed() == z.image.Memory && !in.memory.Refused()
}

// reuse makes another interpreter, without files yet, of an instance that is
// reusable. When it fails, the caller destroys the old one.
func (in *Interp) reuse() (*Interp, error) {
	z := in.key.from
	fresh := &Interp{
		rt: in.rt, mod: in.mod, memory: in.memory, mem: in.mem, deadline: startDeadline(0, nil, nil),
		main: z.owner.Main, preload: z.owner.Preload, initialized: true,
	}
	g := fresh.guest(context.Background())
	for _, t := range in.rt.module.info.Tables {
		if n, err := g.call(t.Size); err != nil || n != z.image.Tables[t.Size] {
			return nil, errors.Join(err, fmt.Errorf("table %s has %d elements", t.Export, n))
		}
	}
	if err := fresh.rewrite(z.image); err != nil {
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
	return fresh, fresh.findSignals()
}

// rewrite makes the memory what the image has.
func (in *Interp) rewrite(image *snapshot.Image) error {
	ranges, err := in.memory.Written()
	if err != nil {
		return err
	}
	total := uint64(0)
	for _, r := range ranges {
		total += r.Length
	}
	for _, r := range ranges {
		if total > maxRewrite {
			if err := in.memory.Revert(r); err != nil {
				return err
			}
			continue
		}
		memory, ok := in.mod.Memory().Read(uint32(r.Offset), uint32(r.Length))
		if !ok {
			return errOutOfRange
		}
		// The holes of the image are zeros, and read as such.
		if _, err := image.File.ReadAt(memory, image.Base+int64(r.Offset)); err != nil {
			return fmt.Errorf("read a snapshot: %w", err)
		}
	}
	return nil
}
