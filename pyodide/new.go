package pyodide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// New makes a fresh interpreter. The caller closes it.
func (r *Runtime) New(ctx context.Context, o Options) (in *Interp, err error) {
	defer closeFiles(o.Files) // that nobody took
	modules, err := o.withModules()
	if err != nil {
		return nil, err
	}
	switch from := cmp.Or(o.From, r.base); {
	case from == nil:
		in, err = r.boot(ctx, o)
	case from.base != nil: // it goes on once
		in, err = r.fromSnapshot(ctx, from, o, r.restore)
	default:
		in, err = r.fromSnapshot(ctx, from, o, r.pool.lease)
	}
	for name, text := range modules {
		if err == nil {
			err = in.WriteFile(name, text)
		}
	}
	if err != nil && in != nil {
		err = errors.Join(err, in.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("make an interpreter: %w", err)
	}
	return in, nil
}

// boot makes an interpreter by booting CPython.
func (r *Runtime) boot(ctx context.Context, o Options) (*Interp, error) {
	instance, err := r.instantiate(ctx, o.memory())
	if err != nil {
		return nil, err
	}
	in := &Interp{instance: instance, rt: r}
	if err := in.makeFiles(o, 0); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := in.boot(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("boot CPython: %w", err), in.Close())
	}
	return in, nil
}

// fromSnapshot makes an interpreter of a snapshot. Its instance comes from
// instantiate.
func (r *Runtime) fromSnapshot(ctx context.Context, z *Snapshot, o Options, instantiate func(context.Context, *Snapshot, int64) (*instance, error)) (*Interp, error) {
	instance, err := instantiate(ctx, z, o.memory())
	if err != nil {
		if o.FS != nil {
			o.FS.Unreserve(o.Charged)
		}
		return nil, err
	}
	in := &Interp{instance: instance, rt: r, from: z}
	if z.layer != nil {
		image := z.layer.image
		if in.layer, err = mapLayer(image.File, image.Base, image.State); err != nil {
			return nil, errors.Join(err, in.Close())
		}
	}
	if err := in.makeFiles(o, z.owner.Clock); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	in.newZone = o.Location != nil && zoneKey(o.Location) != zoneKey(time.Local)
	in.proc.Resume(z.owner.Zone, in.newZone)
	if z.owner.Suspended == nil {
		if err := in.seed(z.owner.Generators); err != nil {
			return nil, errors.Join(err, in.Close())
		}
	}
	if o.Shared {
		return in, nil
	}
	for _, m := range z.mounts {
		if err := in.Mount(m.Dir, m.Tree); err != nil {
			return nil, errors.Join(err, in.Close())
		}
	}
	if err := in.fs.Restore(z.owner.Files); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := in.resume(z.owner.Suspended, o.Populate); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// resume restores the files and descriptors of the suspended interpreter, if it
// was one, and its parked program.
func (in *Interp) resume(l *suspended, populate func(*Interp) error) error {
	if l != nil {
		if err := in.fs.Restore(l.Files); err != nil {
			return err
		}
	}
	if populate != nil {
		if err := populate(in); err != nil {
			return err
		}
	}
	if l != nil {
		in.parked, in.stdinRead = l.Parked, true // it may be
		return in.proc.Restore(l.Process)
	}
	return nil
}
