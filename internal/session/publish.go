package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// maxSynced bounds the blobs that are waited for until the disk has them, in bytes:
// see RATIONALE.md.
const maxSynced = 1 << 20

// publish links a manifest to its name, and waits until the disk has it and what it needs,
// all at once. A link, unlike a rename, never replaces what another process may have put
// there.
func (x *session) publish(manifest []byte, n int) (err error) {
	temp, name := x.temp(), x.statePath(n)
	if err := os.WriteFile(temp, manifest, 0o400); err != nil {
		return err
	}
	defer os.Remove(temp)
	if err = os.Link(temp, name); errors.Is(err, fs.ErrExist) {
		if _, damaged := x.state(n); damaged != nil && !errors.Is(damaged, errRemote) {
			err = errors.Join(os.RemoveAll(name), os.Link(temp, name))
		}
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(name) // it is not believed in any case
		}
	}()
	for _, name := range []string{name, filepath.Dir(name), filepath.Join(x.path, blobsName)} {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		x.sync(f, 0)
	}
	return x.syncing.Wait()
}

// sync closes a file of size bytes once the disk has it, and begins with it at once.
func (x *session) sync(f *os.File, size int64) {
	x.syncing.Go(func() (err error) {
		if size <= maxSynced {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
}
