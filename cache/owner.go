package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// owner is one Cache's folder under tmp, and the lock which says that it is
// not stale.
type owner struct {
	dir  string
	lock *flock.Flock // nil where the file system has no locks
}

// registerTimeout bounds the wait for locks/tmp.lock, which is held for a few
// renames only.
const registerTimeout = 10 * time.Second

// register gives the Cache a folder under tmp, and clears away what dead
// owners left. Caller holds ownerMu, or is Open.
func (c *Cache) register() error {
	tmp := filepath.Join(c.root, "tmp")
	for _, dir := range []string{tmp, filepath.Join(c.root, "locks")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return NewStorageError("create", dir, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), registerTimeout)
	defer cancel()
	unlock, err := c.lock(ctx, "tmp")
	if err != nil {
		return err
	}
	// While tmp.lock is held nobody is between making a folder and locking it.
	o, err := newOwner(tmp)
	if err == nil {
		if err = checkOwnership(c.root, o.dir); err != nil {
			_ = o.release()
		} else if o.lock != nil {
			gatherStale(tmp, o.dir)
		}
	}
	unlock()
	if err != nil {
		return err
	}
	c.owner = o
	removeStale(o.dir)
	return nil
}

// checkOwnership fails if somebody else may have put something into root: what
// is there is run. Mine, a folder just made, shows what this file system says
// of folders of ours, which on some is not the user that we are.
func checkOwnership(root, mine string) error {
	own, err := os.Lstat(mine)
	if err != nil {
		return NewStorageError("stat", mine, err)
	}
	whole, err := os.Stat(root)
	if err != nil {
		return NewStorageError("stat", root, err)
	}
	if whole.Mode()&^own.Mode()&0o002 != 0 && whole.Mode()&fs.ModeSticky == 0 { // they may put folders of theirs in the place of ours
		return fmt.Errorf("%s can be written by everybody; hint: chmod o-w it, or set CODE_RUNNER_CACHE_DIR to a folder of your own", root)
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
		othersWrite := fs.FileMode(0o002) // a tool's folder may be its group's: umask 002 is common
		if ours {
			othersWrite = 0o022
		}
		switch {
		case ours && !info.IsDir(): // a link might lead to where nothing can be renamed to
			return fmt.Errorf("%s is not a folder; hint: remove it, or set CODE_RUNNER_CACHE_DIR to another folder", path)
		case userID(info) != userID(own):
			return fmt.Errorf("%s belongs to another user; hint: set CODE_RUNNER_CACHE_DIR to a folder of your own", path)
		case info.IsDir() && info.Mode()&^own.Mode()&othersWrite != 0:
			return fmt.Errorf("%s can be written by others; hint: chmod go-w it, if you trust what is there", path)
		}
	}
	return nil
}

func newOwner(tmp string) (*owner, error) {
	name := filepath.Join(tmp, fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()[:10]))
	o := &owner{dir: name, lock: flock.New(name + ".lock")}
	ok, err := o.lock.TryLock()
	switch {
	case lockUnsupported(err):
		_ = o.lock.Close()
		o.lock = nil
	case err != nil:
		return nil, NewStorageError("lock", name+".lock", err)
	case !ok:
		return nil, fmt.Errorf("lock %s.lock: somebody else has it", name)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		_ = o.release()
		return nil, NewStorageError("create", name, err)
	}
	return o, nil
}

// release removes the folder and then the lock: in the other order a folder
// would be left that nobody is known to own.
func (o *owner) release() error {
	err := NewStorageError("remove", o.dir, os.RemoveAll(o.dir))
	if o.lock != nil {
		if rerr := os.Remove(o.dir + ".lock"); err == nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = NewStorageError("remove", o.dir+".lock", rerr)
		}
		_ = o.lock.Close()
	}
	return err
}

// gatherStale moves the folders of dead owners into mine, where they are no
// longer in the way and can be removed without holding a lock. If this process
// dies before it has, they are part of its own stale folder.
func gatherStale(tmp, mine string) {
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, isDir := filepath.Join(tmp, e.Name()), e.IsDir()
		base := strings.TrimSuffix(name, ".lock")
		if base == mine {
			continue
		}
		l := flock.New(base + ".lock") // made anew for a folder that lost its lock
		if ok, err := l.TryLock(); !ok || err != nil {
			continue
		}
		if isDir {
			_ = os.Rename(name, filepath.Join(mine, "stale-"+filepath.Base(base)))
		}
		if _, err := os.Lstat(base); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(base + ".lock")
		}
		_ = l.Close()
	}
}

// Users gives the numbers of the processes that have the cache open, but for
// this Cache's own. Where the file system has no locks nobody is known.
func (c *Cache) Users(ctx context.Context) ([]int, error) {
	c.ownerMu.Lock()
	defer c.ownerMu.Unlock()
	if c.owner == nil {
		return nil, errors.New("the cache is closed")
	}
	unlock, err := c.lock(ctx, "tmp")
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries, err := os.ReadDir(filepath.Dir(c.owner.dir))
	if err != nil {
		return nil, NewStorageError("read", filepath.Dir(c.owner.dir), err)
	}
	var pids []int
	for _, e := range entries {
		name, isLock := strings.CutSuffix(e.Name(), ".lock")
		if !isLock || name == filepath.Base(c.owner.dir) {
			continue
		}
		number, _, _ := strings.Cut(name, "-")
		pid, err := strconv.Atoi(number)
		l := flock.New(filepath.Join(filepath.Dir(c.owner.dir), e.Name()))
		if ok, lerr := l.TryLock(); !ok && lerr == nil && err == nil {
			pids = append(pids, pid)
		}
		_ = l.Close()
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

func removeStale(mine string) {
	stale, _ := filepath.Glob(filepath.Join(mine, "stale-*"))
	for _, dir := range stale {
		_ = os.RemoveAll(dir)
	}
}

// TempDir makes a new directory on the same file system as the entries, which the
// caller removes. If
// somebody has removed the cache meanwhile, it is made again.
func (c *Cache) TempDir(prefix string) (string, error) {
	c.ownerMu.Lock()
	defer c.ownerMu.Unlock()
	if c.owner == nil {
		return "", errors.New("the cache is closed")
	}
	dir, err := os.MkdirTemp(c.owner.dir, prefix+"-")
	if errors.Is(err, fs.ErrNotExist) {
		_ = c.owner.release()
		if err := c.register(); err != nil {
			return "", err
		}
		dir, err = os.MkdirTemp(c.owner.dir, prefix+"-")
	}
	return dir, NewStorageError("create", c.owner.dir, err)
}

// privateRoot is a root in the system's temporary folder. It is locked like
// an owner, so that a killed process's one can be told from one in use.
type privateRoot struct {
	dir  string
	lock *flock.Flock
}

const privatePrefix = "coderunner-cache-"

// openPrivate makes a root that goes away with this Cache.
func (c *Cache) openPrivate() error {
	sweepPrivate()
	dir, err := os.MkdirTemp("", privatePrefix)
	if err != nil {
		return NewStorageError("create", os.TempDir(), err)
	}
	p := &privateRoot{dir: dir, lock: flock.New(filepath.Join(dir, "private.lock"))}
	if _, err := p.lock.TryLock(); err != nil && !lockUnsupported(err) {
		_ = p.remove()
		return NewStorageError("lock", dir, err)
	}
	c.root = dir
	if err := c.register(); err != nil {
		_ = p.remove()
		return err
	}
	c.private = p
	return nil
}

func (p *privateRoot) remove() error {
	err := NewStorageError("remove", p.dir, os.RemoveAll(p.dir))
	_ = p.lock.Close()
	return err
}

// sweepPrivate removes the private roots of killed processes. One without a
// lock file may be about to get it, unless it is old.
func sweepPrivate() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), privatePrefix+"*"))
	for _, dir := range dirs {
		name := filepath.Join(dir, "private.lock")
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		l := flock.New(name)
		if ok, err := l.TryLock(); ok && err == nil && time.Since(info.ModTime()) > time.Minute {
			_ = os.RemoveAll(dir)
		}
		_ = l.Close()
	}
}
