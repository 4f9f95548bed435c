package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"coderunner/internal/procdir"
)

// register makes the Cache's directory under tmp and sweeps those of dead
// processes. The caller holds ownerMu, or is Open.
func (c *Cache) register() error {
	tmp := filepath.Join(c.root, "tmp")
	for _, dir := range []string{tmp, filepath.Join(c.root, "locks")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return NewStorageError("create", dir, err)
		}
	}
	d, err := procdir.Make(tmp, "")
	if err != nil {
		return NewStorageError("create", tmp, err)
	}
	if err := checkOwnership(c.root, d.Path()); err != nil {
		_ = d.Remove()
		return err
	}
	c.owner = d
	return nil
}

// checkOwnership returns an error if another user could have written to root: code
// in it is run. mine is a directory just created: its owner is how this file
// system reports us (it may not be our uid).
func checkOwnership(root, mine string) error {
	own, err := os.Lstat(mine)
	if err != nil {
		return NewStorageError("stat", mine, err)
	}
	whole, err := os.Stat(root)
	if err != nil {
		return NewStorageError("stat", root, err)
	}
	if whole.Mode()&^own.Mode()&0o002 != 0 && whole.Mode()&fs.ModeSticky == 0 { // others may replace our directories
		return fmt.Errorf("%s can be written by everybody; hint: chmod o-w it, or set CODE_RUNNER_CACHE_DIR to a directory of your own", root)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return NewStorageError("read", root, err)
	}
	for _, e := range entries {
		path := filepath.Join(root, e.Name())
		info, err := os.Lstat(path)
		if err != nil || info.Mode().IsRegular() {
			continue
		}
		ours := slices.Contains(sections, e.Name())
		othersWrite := fs.FileMode(0o002) // a tool's directory may be group-writable: umask 002 is common
		if ours {
			othersWrite = 0o022
		}
		switch {
		case ours && !info.IsDir(): // a link might lead to where nothing can be renamed to
			return fmt.Errorf("%s is not a directory; hint: remove it, or set CODE_RUNNER_CACHE_DIR to another directory", path)
		case userID(info) != userID(own):
			return fmt.Errorf("%s belongs to another user; hint: set CODE_RUNNER_CACHE_DIR to a directory of your own", path)
		case info.IsDir() && info.Mode()&^own.Mode()&othersWrite != 0:
			return fmt.Errorf("%s can be written by others; hint: chmod go-w it, if you trust what is there", path)
		}
	}
	return nil
}

// Users returns the processes that have the cache open, without this Cache's own. It
// returns none on file systems without locks.
func (c *Cache) Users() []int {
	c.ownerMu.Lock()
	defer c.ownerMu.Unlock()
	if c.owner == nil {
		return nil
	}
	return c.owner.Users("")
}

var errClosed = errors.New("the cache is closed")

// TempDir makes a directory on the file system of the entries; the caller removes
// it. If the cache was removed meanwhile, its directories are made again.
func (c *Cache) TempDir(prefix string) (string, error) {
	c.ownerMu.Lock()
	defer c.ownerMu.Unlock()
	if c.owner == nil {
		return "", errClosed
	}
	dir, err := os.MkdirTemp(c.owner.Path(), prefix+"-")
	if errors.Is(err, fs.ErrNotExist) {
		_ = c.owner.Remove()
		if err := c.register(); err != nil {
			return "", err
		}
		dir, err = os.MkdirTemp(c.owner.Path(), prefix+"-")
	}
	return dir, NewStorageError("create", c.owner.Path(), err)
}

const privatePrefix = "coderunner-cache-"

// openPrivate makes a root in the system's temporary directory that Close removes.
func (c *Cache) openPrivate() error {
	d, err := procdir.Make("", privatePrefix)
	if err != nil {
		return NewStorageError("create", os.TempDir(), err)
	}
	c.root = d.Path()
	if err := c.register(); err != nil {
		_ = d.Remove()
		return err
	}
	c.private = d
	return nil
}
