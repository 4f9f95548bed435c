package pyodide

import (
	"errors"
	"fmt"
	"os"
)

// Snapshot writes an idle interpreter that has run programs to a new file: its
// memory, files, open files and loaded libraries. The interpreter can be used
// afterwards. The error wraps [ErrUnfit] and names what cannot be kept: pipes,
// mapped files, timers, directories of the host. The file's contents are trusted
// when it is opened: keep it where programs cannot write.
func (in *Interp) Snapshot(f *os.File) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed || in.dead {
		return errClosed
	}
	l := &suspended{}
	var err error
	if l.Process, err = in.proc.State(); err == nil {
		l.Files, err = in.fs.State()
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w: %w", ErrUnfit, err)
	}
	return in.write(f, nil, l)
}

// OpenSnapshot opens a file that [Interp.Snapshot] wrote, with this runtime or
// with an equal one in another process. The mounts are those that the interpreter
// had. The caller closes the result when no interpreter is being made of it.
func (r *Runtime) OpenSnapshot(path string, mounts []Mount) (*Snapshot, error) {
	if r.base == nil {
		return nil, errNoStore
	}
	z, err := r.openSnapshot(path, mounts)
	if err != nil {
		return nil, err
	}
	if z.owner.Suspended == nil || z.owner.Key != r.SnapshotKey() {
		return nil, errors.Join(fmt.Errorf("open %s: it is of another runtime", path), z.Close())
	}
	return z, nil
}
