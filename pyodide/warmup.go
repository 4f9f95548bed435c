package pyodide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// warmUpFile is loaded into interpreters before their snapshot is taken, and
// removed again.
const warmUpFile = "guest/warmup.py"

// CPython's immortal objects, as Include/refcount.h has them for 32 bits.
const (
	leastImmortal = 1 << 30
	immortal      = 5 << 28
)

// warmUp prepares an interpreter for a snapshot, so that restored ones share as
// many pages as possible; see guest/warmup.py. With rehearse, the steps common to
// all runs are run before.
func (in *Interp) warmUp(ctx context.Context, rehearse bool) error {
	source, err := guestFiles.ReadFile(warmUpFile)
	if err != nil {
		return err
	}
	g := in.guest(ctx)
	in.calls = map[string]Call{"immortal": {Do: g.immortalize}, "generators": {Do: in.noteGenerators}}
	defer func() { in.calls = nil }()
	module, err := g.module("_coderunner_warmup", string(source))
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	for _, name := range []string{"rehearse", "immortalize", "leave"} {
		if name == "rehearse" && !rehearse {
			continue
		}
		f, err := g.attr(module, name)
		if err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		if _, err := g.apply(f, "", maxRepr); err != nil {
			return fmt.Errorf("warm up: %s: %w", name, err)
		}
		if _, err := g.call("Py_DecRef", f); err != nil {
			return err
		}
	}
	if _, err = g.call("Py_DecRef", module); err != nil {
		return err
	}
	return g.plug()
}

// plug allocates the small free chunks between the used ones and keeps them: a
// program's first allocations then come from one chunk instead of dirtying many
// shared pages.
func (g guest) plug() error {
	const whole = 16 << 10 // bytes from which a chunk is left free
	for _, size := range plugSizes() {
		var row []uint32 // consecutive addresses
		for last, step := uint32(0), uint32(0); uint32(len(row))*size < whole; {
			p, err := g.call("malloc", size)
			if err != nil {
				return err
			}
			if p == 0 {
				return errNoMemory
			}
			if step = p - last; step >= 2*size+32 {
				row = row[:0]
			}
			row, last = append(row, p), p
		}
		for _, p := range row {
			if _, err := g.call("free", p); err != nil {
				return err
			}
		}
	}
	return nil
}

// plugSizes returns the sizes for which dlmalloc, a best-fit allocator, has bins,
// and larger ones in coarser steps.
func plugSizes() (sizes []uint32) {
	for n := uint32(8 << 10); n > 256; n -= n / 8 {
		sizes = append(sizes, n)
	}
	for n := uint32(256); n >= 8; n -= 8 {
		sizes = append(sizes, n)
	}
	return sizes
}

// immortalize makes the elements of the list at an address immortal: they are
// never freed and their references are not counted. The caller holds the list.
func (g guest) immortalize(_ context.Context, argument json.RawMessage) (any, error) {
	var list uint32
	if err := json.Unmarshal(argument, &list); err != nil {
		return nil, err
	}
	listType, err := g.in.compiled.symbol("PyList_Type")
	if err != nil {
		return nil, err
	}
	mem := g.in.mod.Memory()
	// PyListObject: ob_refcnt, ob_type, ob_size, ob_item.
	kind, ok1 := mem.ReadUint32Le(list + 4)
	size, ok2 := mem.ReadUint32Le(list + 8)
	items, ok3 := mem.ReadUint32Le(list + 12)
	if !ok1 || !ok2 || !ok3 || kind != listType {
		return nil, errors.New("not a list")
	}
	for i := range size {
		object, ok := mem.ReadUint32Le(items + 4*i)
		count, ok2 := mem.ReadUint32Le(object)
		if !ok || !ok2 {
			return nil, errOutOfRange
		}
		if count < leastImmortal {
			mem.WriteUint32Le(object, immortal)
		}
	}
	return nil, nil
}
