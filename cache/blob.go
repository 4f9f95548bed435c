package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Blob returns the path of the file with digest d. If it is not in the cache,
// build is called to write it. Only one caller among all processes builds at a
// time; the others wait and share the result. Cached reports that build was not
// called. A file with another digest is an error and is not kept.
//
// The file is read-only and stays until Prune or Clear removes it. Build may
// truncate f and begin again.
func (c *Cache) Blob(ctx context.Context, d Digest, build func(ctx context.Context, f *os.File) error) (path string, cached bool, err error) {
	if err := d.Check(); err != nil {
		return "", false, err
	}
	path = filepath.Join(c.root, Blobs, d.Algorithm, d.Hex[:2], d.Hex)
	if c.checkBlob(path, d) == nil {
		return path, true, nil
	}
	unlock, err := c.lock(ctx, blobLock(d))
	if err != nil {
		return "", false, err
	}
	defer unlock()
	if c.checkBlob(path, d) == nil {
		return path, true, nil
	}
	tmp, err := c.TempDir("blob")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(tmp)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", false, NewStorageError("create", filepath.Dir(path), err)
	}
	fresh := filepath.Join(tmp, "new")
	if err := writeBlob(ctx, fresh, build); err != nil {
		return "", false, err
	}
	if err := replace(fresh, path); err != nil {
		return "", false, err
	}
	return path, false, errors.Join(syncDir(filepath.Dir(path)), c.checkBlob(path, d))
}

// writeBlob creates and syncs the file at path.
func writeBlob(ctx context.Context, path string, build func(ctx context.Context, f *os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return NewStorageError("create", path, err)
	}
	err = withHint(build(ctx, f))
	if err == nil {
		err = NewStorageError("sync", path, f.Sync())
	}
	if cerr := f.Close(); err == nil {
		err = NewStorageError("write", path, cerr)
	}
	return err
}

// replace makes a finished file read-only and renames it to path. Windows does not
// replace a read-only file.
func replace(fresh, path string) error {
	if err := os.Chmod(fresh, 0o444); err != nil {
		return NewStorageError("chmod", fresh, err)
	}
	if runtime.GOOS == "windows" {
		_ = os.Remove(path)
	}
	return NewStorageError("rename", path, os.Rename(fresh, path))
}

func blobLock(d Digest) string { return "blob-" + d.Algorithm + "-" + d.Hex }
