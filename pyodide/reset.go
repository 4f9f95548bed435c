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

// reusable reports whether the instance of an interpreter that was closed can
// become another one's, as far as can be told at once.
func (in *instance) reusable() bool {
	z := in.key.from
	return in.linking.unchanged(z.owner.Link) && in.memory.Committed() == z.image.Memory && !in.memory.Refused()
}

// detach takes away what the interpreter had, so that nothing of what its
// program held waits with the instance, and gives back what is too much to be
// written again. It reports whether it is known what was written.
func (in *instance) detach() bool {
	in.signals.close()
	in.signals, in.deadline, in.proc, in.fs = &signals{}, never(), nil, nil
	in.memory.Share(nil)
	ranges, err := in.memory.Written()
	if err != nil {
		return false
	}
	in.written = ranges
	total := uint64(0)
	for _, r := range ranges {
		total += r.Length
	}
	if total > maxRewrite {
		for _, r := range ranges {
			if err := in.memory.Revert(r); err != nil {
				return false
			}
		}
		in.written = nil
		in.exports = map[string]api.Function{} // their stacks may have grown as much
	}
	return true
}

// reset makes a detached instance what the snapshot is. After an error it can
// only be closed.
func (in *instance) reset() error {
	z := in.key.from
	g := in.guest(context.Background())
	for _, t := range in.rt.module.info.Tables {
		if n, err := g.call(t.Size); err != nil || n != z.image.Tables[t.Size] {
			return errors.Join(err, fmt.Errorf("table %s has %d elements", t.Export, n))
		}
	}
	if err := in.rewrite(z, in.written); err != nil {
		return err
	}
	in.written = nil
	for _, name := range ownGlobals {
		if err := in.setGlobal(name, 0); err != nil {
			return err
		}
	}
	if err := in.setGlobals(z.image); err != nil {
		return err
	}
	if z.owner.Link != nil {
		if err := in.linking.linker.Reset(z.owner.Link.Linker); err != nil {
			return err
		}
	}
	return in.signals.start(in)
}

// rewrite makes the ranges of the memory what the snapshot has.
func (in *instance) rewrite(z *Snapshot, ranges []linmem.Range) error {
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
func (z *Snapshot) mapContents() ([]byte, error) {
	b, unmap, err := mapOpen(z.image.File, z.image.Base+int64(z.image.Memory))
	if err != nil {
		return nil, err
	}
	z.unmap = unmap
	return b[z.image.Base:], nil
}
