package pyodide

import (
	"context"
	"errors"
	"fmt"

	"coderunner/pyodide/linmem"
	"coderunner/pyodide/snapshot"
)

// restore makes an instance of a snapshot. It is like all others of that: guest/renew.py makes
// what must differ between two programs, such as random numbers.
func (r *compiled) restore(ctx context.Context, z *Snapshot, memory int64) (in *instance, err error) {
	if in, err = r.instantiate(ctx, memory); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			in, err = nil, errors.Join(fmt.Errorf("restore: %w", err), in.close())
		}
	}()
	if err := in.growMemory(z.image, memory); err != nil {
		return in, err
	}
	if err := in.growTables(ctx, z.image); err != nil {
		return in, err
	}
	if err := in.linking.restoreLibraries(ctx, z.owner.Link, z.mounts); err != nil {
		return in, err
	}
	for _, image := range z.images() {
		if err := in.mapImage(image); err != nil {
			return in, err
		}
	}
	if err := in.setGlobals(z.image); err != nil {
		return in, err
	}
	if err := in.linking.restoreClosures(ctx, z.owner.Link); err != nil {
		return in, err
	}
	in.linking.markRestored()
	in.functions, in.initialized = z.owner.Functions, true
	return in, in.startSignals()
}

// growMemory makes the memory as large as the image.
func (in *instance) growMemory(image *snapshot.Image, memory int64) error {
	mem := in.mod.Memory()
	if have := uint64(mem.Size()); have < image.Memory {
		if _, ok := mem.Grow(uint32((image.Memory - have) / linmem.PageSize)); !ok {
			return fmt.Errorf("the memory limit of %d bytes is less than what the interpreter takes at its start (%d)", memory, image.Memory)
		}
	}
	return nil
}

// mapImage maps the image's memory into the instance's, or changes that by its patch.
func (in *instance) mapImage(image *snapshot.Image) error {
	for e, at := range image.Stored() {
		if err := in.memory.Map(image.File, image.Base+at, e.Offset, e.Length); err != nil {
			return err
		}
	}
	if image.Patch == 0 {
		return nil
	}
	memory, ok := in.mod.Memory().Read(0, in.mod.Memory().Size())
	if !ok {
		return errOutOfRange
	}
	return image.Apply(memory)
}

// setGlobals sets the globals to the values of the image.
func (in *instance) setGlobals(image *snapshot.Image) error {
	for name, v := range image.Globals {
		g, err := in.global(name)
		if err != nil {
			return err
		}
		g.Set(v)
	}
	return nil
}

// growTables brings the tables to their recorded sizes.
func (in *instance) growTables(ctx context.Context, image *snapshot.Image) error {
	g := in.guest(ctx)
	for _, t := range in.compiled.module.info.Tables {
		want, ok := image.Tables[t.Size]
		if !ok || want < t.Min {
			return fmt.Errorf("the snapshot has no size for table %s", t.Export)
		}
		if want > t.Min {
			if _, err := g.call(t.Grow, want-t.Min); err != nil {
				return err
			}
		}
	}
	return nil
}
