package cache

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"coderunner/internal/trace"
)

// Dir returns the directory for kind and key. If it is not in the cache, build is
// called to fill the empty directory dir, which then becomes the entry. Only one
// caller among all processes builds at a time; the others wait and share the
// result. The files under path must not be changed; path is valid until the entry
// is removed.
//
// Kind is a short lower-case word; key is any text that changes whenever the
// result would. Build may create directories and regular files, including
// executable ones. If it returns an error, Dir returns it and keeps nothing.
func (c *Cache) Dir(ctx context.Context, kind, key string, build func(ctx context.Context, dir string) error) (path string, err error) {
	return c.get(ctx, Trees, kind, key, func(data string) error {
		if err := os.Mkdir(data, 0o700); err != nil {
			return NewStorageError("create", data, err)
		}
		return build(ctx, data)
	})
}

// File is [Cache.Dir] for a single file. The writer is an *os.File, so a build of
// a sparse file may seek in it or map it.
func (c *Cache) File(ctx context.Context, kind, key string, build func(ctx context.Context, w io.Writer) error) (path string, err error) {
	return c.get(ctx, Files, kind, key, func(data string) error {
		return writeFile(data, func(f *os.File) error { return build(ctx, f) })
	})
}

// Blob returns the path of the file with digest d. If it is not in the cache,
// build is called to write it, and cached is false. A file with another digest is
// an error and is not kept.
//
// The file is read-only and stays until it is removed. Build may truncate f and
// begin again.
func (c *Cache) Blob(ctx context.Context, d Digest, build func(ctx context.Context, f *os.File) error) (path string, cached bool, err error) {
	if err := d.Check(); err != nil {
		return "", false, err
	}
	path = filepath.Join(c.root, Blobs, d.Algorithm, d.Hex[:2], d.Hex)
	check := func() error { return c.verifier.blob(path, d) }
	built, err := c.build(ctx, path, blobLock(d), "blob", check, func(tmp string) error {
		fresh := filepath.Join(tmp, "new")
		if err := writeFile(fresh, func(f *os.File) error { return build(ctx, f) }); err != nil {
			return withHint(err)
		}
		return c.replace(fresh, path)
	})
	return path, !built, err
}

// Find returns the path of a tree or file if it is in the cache.
func (c *Cache) Find(ctx context.Context, section, kind, key string) (path string, ok bool) {
	e, err := newEntry(c.root, section, kind, key)
	if err != nil || !c.found(ctx, e.dir, kind, func() error { return c.verifier.entry(e, nil) }) {
		return "", false
	}
	return e.data(), true
}

// found reports whether the entry at path is in the cache, and adds a use.
func (c *Cache) found(ctx context.Context, path, kind string, check func() error) bool {
	if line := c.uses.add(ctx, c.root, path, slices.Contains(c.evictor.runtimes, kind)); line != "" {
		if unlock, err := c.locks.share(ctx, evictLock); err == nil {
			defer unlock()
		}
		c.note(line)
	}
	return check() == nil
}

// build calls make with a temporary directory unless the entry at path is in the
// cache, holding the lock, and reports whether it did.
func (c *Cache) build(ctx context.Context, path, lock, kind string, check func() error, make func(tmp string) error) (built bool, err error) {
	if c.found(ctx, path, kind, check) {
		return false, nil
	}
	unlock, err := c.locks.take(ctx, lock)
	if err != nil {
		return false, err
	}
	defer unlock()
	if check() == nil { // it was built while we waited
		return false, nil
	}
	if ctx.Err() != nil {
		return false, ContextErr(ctx)
	}
	tmp, err := c.TempDir(kind)
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	if err = make(tmp); err == nil {
		err = check()
	}
	if err == nil {
		c.evictor.grow(installedSize(path))
	}
	return true, err
}

// installedSize returns the size of a blob or entry.
func installedSize(path string) int64 {
	if m, err := readManifest(path); err == nil {
		return m.size()
	}
	if info, err := os.Lstat(path); err == nil {
		return info.Size()
	}
	return 0
}

// writeFile creates and writes the file at path.
func writeFile(path string, write func(f *os.File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return NewStorageError("create", path, err)
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = NewStorageError("write", path, cerr)
	}
	return err
}

// replace makes a finished file read-only and renames it to path. Windows does not
// replace a read-only file.
func (c *Cache) replace(fresh, path string) error {
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return NewStorageError("create", parent, err)
	}
	if err := os.Chmod(fresh, 0o444); err != nil {
		return NewStorageError("chmod", fresh, err)
	}
	if runtime.GOOS == "windows" {
		_ = os.Remove(path)
	}
	if err := os.Rename(fresh, path); err != nil {
		return NewStorageError("rename", path, err)
	}
	c.syncer.add(path)
	return nil
}

// get returns the path of an entry, which write makes if it is not there or
// damaged.
func (c *Cache) get(ctx context.Context, section, kind, key string, write func(data string) error) (string, error) {
	e, err := newEntry(c.root, section, kind, key)
	if err != nil {
		return "", err
	}
	var built *manifest
	check := func() error { return c.verifier.entry(e, built) }
	_, err = c.build(ctx, e.dir, e.lock, kind, check, func(tmp string) error {
		fresh := filepath.Join(tmp, "new")
		if err := os.Mkdir(fresh, 0o700); err != nil {
			return NewStorageError("create", fresh, err)
		}
		if err := write(filepath.Join(fresh, dataName)); err != nil {
			return withHint(err)
		}
		hashing := trace.Begin("hash a new " + kind)
		built, err = finish(fresh, kind, key)
		if hashing(); err != nil {
			return err
		}
		if section == Records {
			// Who evicts has read all records: what it moves away meanwhile is missed by
			// the comparison that follows, or named by a record that it has read.
			unlock, err := c.locks.share(ctx, evictLock)
			if err != nil {
				return err
			}
			defer unlock()
		}
		if err := e.install(fresh, filepath.Join(tmp, "old"), check); err != nil {
			return err
		}
		c.syncer.add(e.dir)
		return nil
	})
	if err != nil {
		return "", err
	}
	return e.data(), nil
}

// install renames the finished entry fresh to e.dir, after renaming an existing
// entry to old. Without locks two builders may race: the last rename wins, and a
// loser checks the winner's entry.
func (e *entry) install(fresh, old string, check func() error) error {
	parent := filepath.Dir(e.dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return NewStorageError("create", parent, err)
	}
	if err := os.Rename(e.dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return NewStorageError("rename", e.dir, err)
	}
	if err := os.Rename(fresh, e.dir); err != nil && check() != nil {
		return NewStorageError("rename", e.dir, err)
	}
	return nil
}
