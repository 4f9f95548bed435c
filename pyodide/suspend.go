package pyodide

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/order"
	"coderunner/pyodide/snapshot"
)

// Snapshot writes an idle interpreter that has run programs to a new file: its
// memory, files outside of [Home], open files and loaded libraries. The
// interpreter can be used afterwards. The file has only the words of memory that
// are not those of Base. The error wraps [ErrUnfit] and names what cannot be
// kept: pipes, mapped files, timers, open files of the host. The file's contents
// are trusted when it is opened: keep it where programs cannot write. Directories
// of the host are not in it: Options.Populate mounts them again.
//
// If that are many, their pages go to a layer of their own, which later snapshots
// need, too, and do not repeat. layer makes its file; without it there is none.
// lost is whether the layer of the interpreter's earlier snapshots, if any, is not
// there any more.
func (in *Interp) Snapshot(f snapshot.File, lost bool, layer func() (*os.File, error)) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed || in.dead {
		return errClosed
	}
	l := &suspended{layer: layer, lost: lost, Parked: in.parked}
	var err error
	if l.Process, err = in.proc.State(); err == nil {
		l.Files, err = in.fs.StateOfClone(Home)
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w: %w", ErrUnfit, err)
	}
	return in.write(f, nil, l)
}

// Layered reports whether the last Snapshot needs a layer.
func (in *Interp) Layered() bool { return in.layer != nil }

// Base returns the snapshot that a Snapshot of the interpreter would be a delta
// of; nil if it would be whole. The caller may link to it or copy it, and does
// not close it.
func (in *Interp) Base() *os.File {
	if in.from == nil {
		return nil
	}
	return in.from.whole().image.File
}

// whole returns the snapshot that this one is a delta of, or itself.
func (z *Snapshot) whole() *Snapshot {
	if z.base != nil {
		return z.base
	}
	return z
}

// images returns what is mapped one over the other.
func (z *Snapshot) images() (list []*snapshot.Image) {
	for _, below := range []*Snapshot{z.base, z.layer} {
		if below != nil {
			list = append(list, below.image)
		}
	}
	return append(list, z.image)
}

// maxRepeated is how many bytes of memory each snapshot may repeat. One with a larger layer
// may repeat half of it, without the part that is soon written.
const (
	maxRepeated = 64 << 10
	soonWritten = 256 << 10
)

// layer is what a layer has, mapped from its file.
type layer struct {
	snapshot.Layer
	unmap func() error
}

// mapLayer maps the image of a layer, which begins in f at base.
func mapLayer(f *os.File, base int64, s snapshot.State) (*layer, error) {
	b, unmap, err := mapOpen(f, base+int64(total(s.Extents)))
	if err != nil {
		return nil, err
	}
	return &layer{snapshot.Layer{Extents: s.Extents, Contents: b[base:]}, unmap}, nil
}

// dropLayer forgets the layer.
func (in *Interp) dropLayer() (err error) {
	if in.layer != nil {
		err = in.layer.unmap()
	}
	in.layer = nil
	return err
}

// writeDelta writes what is not as in the base and the layer. Where the system
// does not tell which pages may differ, all are compared, and there is no layer.
func (in *Interp) writeDelta(f snapshot.File, memory []byte, s snapshot.State, l *suspended) error {
	base := in.from.whole()
	base.reading.RLock()
	defer base.reading.RUnlock()
	if base.closed.Load() {
		return errClosed
	}
	contents, err := base.contents()
	if err != nil {
		return err
	}
	written, err := in.memory.Written()
	if err != nil {
		all := []snapshot.Extent{{Offset: 0, Length: uint64(len(memory))}}
		_, err = snapshot.WritePatch(f, memory, contents, all, snapshot.Layer{}, math.MaxInt64, s)
		return errors.Join(err, in.dropLayer())
	}
	var where []snapshot.Extent
	for _, r := range slices.Concat(written, in.remapped) {
		where = append(where, snapshot.Extent(r))
	}
	sortExtents(where)
	if in.layer != nil && l.lost && l.layer == nil {
		return fmt.Errorf("snapshot: %w: a part that was saved before is lost", ErrUnfit)
	}
	var below snapshot.Layer
	if in.layer != nil {
		below = in.layer.Layer
	}
	most := int64(math.MaxInt64)
	if l.layer != nil {
		most = int64(max(maxRepeated+soonWritten, total(below.Extents)/2) - soonWritten)
	}
	if in.layer == nil || !l.lost {
		if fits, err := snapshot.WritePatch(f, memory, contents, where, below, most, s); fits || err != nil {
			return err
		}
	}
	where = append(where, below.Extents...)
	sortExtents(where)
	err = in.writeLayer(l.layer, memory, contents, where, s)
	if err == nil {
		_, err = snapshot.WritePatch(f, memory, contents, nil, snapshot.Layer{}, 0, s) // the layer has all
	}
	return err
}

// writeLayer writes what differs from the base and maps it: what is written to from
// now on differs from the layer.
func (in *Interp) writeLayer(file func() (*os.File, error), memory, base []byte, where []snapshot.Extent, s snapshot.State) error {
	f, err := file()
	if err != nil {
		return err
	}
	s, err = snapshot.WriteDelta(f, memory, base, where, s)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	start, err := s.ImageOffset()
	var made *layer
	if err == nil {
		made, err = mapLayer(f, start, s)
	}
	in.foreign = true
	for e, at := range s.Stored() {
		if err == nil {
			err = in.memory.Map(f, start+at, e.Offset, e.Length)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		in.dead = true // half of it is mapped
		if made != nil {
			err = errors.Join(err, made.unmap())
		}
		return err
	}
	err = in.dropLayer()
	in.layer = made
	return err
}

func sortExtents(list []snapshot.Extent) {
	order.By(list, func(a, b snapshot.Extent) int { return cmp.Compare(a.Offset, b.Offset) })
}

// total returns how many bytes extents have, which may overlap.
func total(list []snapshot.Extent) (bytes uint64) {
	for _, e := range list {
		bytes += e.Length
	}
	return bytes
}

// OpenSnapshot opens a file that [Interp.Snapshot] wrote, with this runtime or
// with an equal one in another process. base is a copy of the file that was the
// interpreter's Base, "" if there was none, and layer one of its layer's file, ""
// if it was not Layered. The mounts are those that the interpreter had. The caller
// closes the result after the interpreters that are made of it, if they are to be
// written again.
func (r *Runtime) OpenSnapshot(path, layer, base string, mounts []Mount) (*Snapshot, error) {
	if r.base == nil {
		return nil, errNoStore
	}
	z, err := r.openSnapshot(path, mounts)
	if err != nil {
		return nil, err
	}
	if z.owner.Suspended == nil || z.owner.Key != r.SnapshotKey() {
		return nil, errors.Join(errors.New("it was saved by another version"), z.Close())
	}
	if z.image.Delta {
		if z.base, err = r.openSnapshot(base, nil); err != nil {
			return nil, errors.Join(err, z.Close())
		}
	}
	if layer != "" {
		if z.layer, err = r.openSnapshot(layer, nil); err != nil {
			return nil, errors.Join(err, z.Close())
		}
	}
	return z, nil
}

// Attach gives an idle interpreter the streams, environment and calls of its next
// program. The other options do not count.
func (in *Interp) Attach(o Options) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.stdinRead = in.proc.SetStdio(o.Stdin, o.Stdout, o.Stderr) || in.stdinRead
		in.env, in.calls, in.process = o.Env, o.Calls, o.Process
		if in.process != nil {
			in.process.Handle(in.signals.receive)
		}
	}
}

// Put makes a file, or replaces one, with the mode's permissions; a directory; or
// a symbolic link to target. A relative name is in [Home].
func (in *Interp) Put(name string, mode fs.FileMode, data []byte, target string) error {
	return in.fs.Restore([]memfs.Saved{{
		Path: path.Join(Home, name), Mode: abi.Mode(mode), Mtime: abi.NewTimespec(time.Now()), Data: data, Target: target,
	}})
}

// Unlist leaves a file of [Home] out of listings, until it is written or moved.
func (in *Interp) Unlist(name string) error { return in.fs.Unlist(path.Join(Home, name)) }

// Remove removes a file, or a directory with all that is in it, from [Home].
func (in *Interp) Remove(name string) error {
	at := path.Join(Home, name)
	if errno := in.fs.Unlink(nil, at); errno != abi.EISDIR && errno != abi.EPERM {
		return errno.Err()
	}
	entries, err := fs.ReadDir(in.fs.FS(), at[1:])
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := in.Remove(path.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return in.fs.Rmdir(nil, at).Err()
}
