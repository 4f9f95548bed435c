package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"coderunner/internal/procdir"
)

// process is this process's directory in a root, for temporary files.
type process struct {
	root string
	uses uses

	mu  sync.Mutex
	dir *procdir.Dir // nil when closed; guarded by mu
}

// register makes the directory and sweeps those of dead processes.
func (p *process) register() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.registerLocked()
}

func (p *process) registerLocked() error {
	all := filepath.Join(p.root, processes)
	for _, dir := range []string{all, filepath.Join(p.root, lockDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return NewStorageError("create", dir, err)
		}
	}
	d, err := procdir.Make(all, "")
	if err != nil {
		return NewStorageError("create", all, err)
	}
	if err := checkOwnership(p.root, d.Path()); err != nil {
		_ = d.Remove()
		return err
	}
	p.dir = d
	p.uses.forget()
	return nil
}

// close removes the directory.
func (p *process) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.dir
	if p.dir = nil; d == nil {
		return nil
	}
	return NewStorageError("remove", d.Path(), d.Remove())
}

// others returns the directories of other processes that have the cache open.
func (p *process) others() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == nil {
		return nil
	}
	return p.dir.Others("")
}

// note appends a line to this process's list of uses. Where that is impossible,
// other processes do not know of the use.
func (p *process) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == nil {
		return
	}
	f, err := os.OpenFile(filepath.Join(p.dir.Path(), usedName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, _ = f.WriteString(line)
		_ = f.Close()
	}
}

var errClosed = errors.New("the cache is closed")

// TempDir makes a directory on the file system of the entries; the caller removes
// it. If the cache was removed meanwhile, its directories are made again.
func (p *process) TempDir(prefix string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == nil {
		return "", errClosed
	}
	dir, err := os.MkdirTemp(p.dir.Path(), prefix+"-")
	if errors.Is(err, fs.ErrNotExist) {
		_ = p.dir.Remove()
		if err := p.registerLocked(); err != nil {
			return "", err
		}
		dir, err = os.MkdirTemp(p.dir.Path(), prefix+"-")
	}
	return dir, NewStorageError("create", p.dir.Path(), err)
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
