package pyodide

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/linmem"
	"coderunner/pyodide/rewrite"
)

// An instance whose program has ended well can be reset to its snapshot and serve
// another interpreter. Its state is memory, globals and tables: the pages written
// since, which the system tracks, are copied again from the snapshot, the globals
// are set, and an instance whose tables may have changed is not reused. All else
// of an interpreter is made anew.

// ownGlobals are the globals rewrite adds. They are not in snapshots; between
// runs they hold their initial value.
var ownGlobals = []string{rewrite.FlagGlobal, rewrite.ValueGlobal, rewrite.InterruptGlobal, rewrite.FuelGlobal}

// maxRewrite bounds the bytes copied by a reset, and so what an idle instance
// occupies. After a program that wrote more, all pages are mapped anew from the
// snapshot.
const maxRewrite = 1 << 20

// reusable reports whether the instance of a closed interpreter can be reset, as
// far as is known without looking at its memory.
func (in *instance) reusable() bool {
	z := in.key.from
	return !in.foreign && in.linking.unchanged(z.owner.Link) && in.memory.Committed() == z.image.Memory && !in.memory.Refused()
}

// detach drops the interpreter's state so that an idle instance holds none of its
// program's memory. It reports whether the written pages are known.
func (in *instance) detach() bool {
	in.signals.close()
	in.signals, in.deadline, in.proc, in.fs, in.process, in.tls = &signals{}, never(), nil, nil, nil, nil
	in.memory.Share(nil)
	ranges, err := in.memory.Rewritten()
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
		in.exports = map[string]api.Function{} // drops their stacks, which may have grown
	}
	return true
}

// reset restores a detached instance to its snapshot. After an error it can only
// be closed.
func (in *instance) reset() error {
	z := in.key.from
	g := in.guest(context.Background())
	for _, t := range in.compiled.module.info.Tables {
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
	return in.startSignals()
}

// rewrite copies ranges of the snapshot's memory into the instance's.
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
