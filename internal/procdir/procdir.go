// Package procdir makes temporary directories that are removed after their process
// has ended.
//
//	<parent>/<prefix><process>-<random>/   0700
//	└── lock                               held by flock as long as the process lives
//
// The kernel releases the lock when the process ends, however it ends. Make sweeps
// sibling directories whose lock is free. Their age is not looked at: a process
// may sleep for a week.
//
// In a shared parent (/tmp) only directories owned by this user with mode 0700 are
// touched, without following links and without waiting in an open (of a FIFO).
//
// # Locking
//
// The parent is not locked. A new directory can be swept before its maker has
// locked it; the maker notices that and makes another one. Without file locks
// nothing is swept, and the lock has another name.
package procdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// Dir is a directory of this process.
type Dir struct {
	path string
	lock *flock.Flock
}

const (
	lockName = "lock"

	// attempts bounds retries when another process sweeps the new directory before
	// it is locked.
	attempts = 10
)

var errSwept = errors.New("another process removed it at once")

// Make makes a directory in parent whose name begins with prefix, after sweeping
// those of dead processes. The caller removes it.
func Make(parent, prefix string) (*Dir, error) {
	return makeBy(parent, prefix, func() (string, error) {
		return os.MkdirTemp(parent, fmt.Sprintf("%s%d-", prefix, os.Getpid()))
	})
}

// MakeNamed is Make for a directory whose name is known before. The error is [fs.ErrExist] if
// another process has it, or it is not ours.
func MakeNamed(parent, prefix, name string) (*Dir, error) {
	return makeBy(parent, prefix, func() (string, error) {
		path := filepath.Join(parent, prefix+name)
		return path, os.Mkdir(path, 0o700)
	})
}

// makeBy is Make for directories that a function makes.
func makeBy(parent, prefix string, mkdir func() (path string, err error)) (*Dir, error) {
	Sweep(parent, prefix)
	var err error
	for range attempts {
		var d *Dir
		if d, err = try(mkdir); err == nil {
			return d, nil
		}
		if !errors.Is(err, errSwept) {
			break
		}
	}
	return nil, fmt.Errorf("make a temporary directory: %w", err)
}

// Sweep removes the directories of dead processes in parent whose names begin with
// prefix.
func Sweep(parent, prefix string) {
	sweep(parent, prefix, func(path string, lock *flock.Flock) { _ = remove(path, lock) }, nil)
}

// try makes a directory and locks it. The error is errSwept if another process
// had the lock in between.
func try(mkdir func() (path string, err error)) (*Dir, error) {
	path, err := mkdir()
	if err != nil {
		return nil, err
	}
	lock := newLock(path, os.O_CREATE|os.O_EXCL)
	locked, err := lock.TryLock()
	if err == nil && locked {
		var held, there fs.FileInfo
		if held, err = lock.Stat(); err == nil {
			there, err = os.Lstat(lock.Path())
		}
		if err == nil && !os.SameFile(held, there) {
			err = errSwept
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !locked:
		err = errSwept
	case Unsupported(err):
		// Processes that have locks must not take it for a dead one's.
		if err = os.Rename(lock.Path(), filepath.Join(path, "unlocked")); errors.Is(err, fs.ErrNotExist) {
			err = errSwept
		}
	}
	if err != nil {
		_ = remove(path, lock)
		return nil, err
	}
	return &Dir{path: path, lock: lock}, nil
}

// newLock returns the lock of the directory at path, opened with
// O_NOFOLLOW|O_NONBLOCK and flags.
func newLock(path string, flags int) *flock.Flock {
	return flock.New(filepath.Join(path, lockName), flock.SetFlag(os.O_RDWR|guarded|flags))
}

// Unsupported reports whether err means that the file system has no locks.
func Unsupported(err error) bool {
	return errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.ENOTSUP) ||
		errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS)
}

// Path returns the path of the directory.
func (d *Dir) Path() string { return d.path }

// Remove removes the directory and everything in it.
func (d *Dir) Remove() error { return remove(d.path, d.lock) }

// remove removes a directory whose lock is held, the lock last: a non-empty
// directory without a lock is never swept.
func remove(path string, lock *flock.Flock) error {
	defer lock.Close()
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.Name() != lockName {
			err = errors.Join(err, RemoveAll(filepath.Join(path, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	return RemoveAll(path)
}

// Others returns the paths of d's siblings with this prefix whose processes live.
func (d *Dir) Others(prefix string) (paths []string) {
	sweep(filepath.Dir(d.path), prefix, func(_ string, lock *flock.Flock) { _ = lock.Close() }, func(path string) {
		if path != d.path {
			paths = append(paths, path)
		}
	})
	return paths
}

// PID returns the process in the name of a directory that Make made, 0 if there is
// none.
func PID(path, prefix string) int {
	number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "-")
	pid, _ := strconv.Atoi(number)
	return pid
}

// sweep calls free, lock held, for dead processes' directories and used, which may
// be nil, for live ones. Other files with the prefix are skipped.
func sweep(parent, prefix string, free func(path string, lock *flock.Flock), used func(path string)) {
	parent = cmp.Or(parent, os.TempDir())
	entries, _ := os.ReadDir(parent) // an unreadable parent is not swept
	for _, e := range entries {
		path := filepath.Join(parent, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) || !private(path) {
			continue
		}
		name := filepath.Join(path, lockName)
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(path) // an empty one, whose process died or will make another
			continue
		}
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		lock := newLock(path, 0)
		switch locked, err := lock.TryLock(); {
		case err != nil:
			_ = lock.Close()
		case locked:
			free(path, lock)
		case used != nil:
			used(path)
		}
	}
}

// private reports whether path is a directory, not a link, that only this user
// can have written to.
func private(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && owned(info)
}

// flattenAt is the depth at which open moves a tree up.
const flattenAt = 64

// RemoveAll is os.RemoveAll for trees that an untrusted program made: unreadable or
// unwritable directories, at any depth.
func RemoveAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	if info, lerr := os.Lstat(path); lerr != nil || !info.IsDir() {
		return err
	}
	_ = os.Chmod(path, 0o700)
	if top, oerr := os.OpenRoot(path); oerr == nil {
		open(top)
		_ = top.Close()
	}
	return os.RemoveAll(path) // returns what is still wrong
}

// open makes the directories below top readable and writable. A tree at flattenAt
// is moved up to top, so that no path becomes too long.
func open(top *os.Root) {
	moved := 0
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		f, err := top.Open(dir)
		if err != nil {
			return
		}
		defer f.Close()
		for {
			names, err := f.Readdirnames(1 << 10)
			for _, name := range names {
				sub := filepath.Join(dir, name)
				if info, err := top.Lstat(sub); err != nil || !info.IsDir() {
					continue
				}
				_ = top.Chmod(sub, 0o700)
				if depth+1 < flattenAt {
					walk(sub, depth+1)
					continue
				}
				moved++
				if up := fmt.Sprintf(".moved-%d", moved); top.Rename(sub, up) == nil {
					walk(up, 1)
				}
			}
			if err != nil {
				return
			}
		}
	}
	walk(".", 0)
}
