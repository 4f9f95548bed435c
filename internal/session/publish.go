package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
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
	var syncing errgroup.Group
	syncing.Go(func() error { return syncFile(name) })
	syncing.Go(func() error { return syncFile(filepath.Dir(name)) })
	for name := range x.pending {
		if info, err := os.Lstat(x.blob(name)); err == nil && info.Size() <= maxSynced && !strings.HasPrefix(name, sharedPrefix) {
			syncing.Go(func() error { return syncFile(x.blob(name)) })
		}
	}
	syncing.Go(func() error { return syncFile(filepath.Join(x.path, blobsName)) })
	return syncing.Wait()
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
