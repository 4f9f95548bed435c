package memfs

import (
	"context"
	"sync"

	"coderunner/internal/machine/abi"
)

// locks are the locks of flock(2): which open files hold one of an inode, and whether
// it is exclusive.
type locks struct {
	mu      sync.Mutex
	held    map[*Node]map[*File]bool
	waiters Waiters
}

// Lock is flock(2): it takes a shared or an exclusive lock of the file, in the place of
// one that f holds. It waits until ctx ends, EINTR, unless nonblock, EAGAIN. Closing
// the last descriptor of f unlocks it.
func (f *File) Lock(ctx context.Context, exclusive, nonblock bool) abi.Errno {
	if f.node == nil {
		return abi.EBADF
	}
	l := &f.fsys.locks
	take := func() bool { return l.take(f, exclusive) }
	switch {
	case !nonblock:
		return Await(ctx, &l.waiters, take)
	case !take():
		return abi.EAGAIN
	}
	return abi.OK
}

// take takes a lock if no other open file is in the way.
func (l *locks) take(f *File, exclusive bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, theirs := range l.held[f.node] {
		if other != f && (exclusive || theirs) {
			return false
		}
	}
	if l.held == nil {
		l.held = map[*Node]map[*File]bool{}
	}
	if l.held[f.node] == nil {
		l.held[f.node] = map[*File]bool{}
	}
	l.held[f.node][f] = exclusive
	f.locked.Store(true)
	return true
}

// Unlock gives back the lock that f holds.
func (f *File) Unlock() {
	if !f.locked.Swap(false) {
		return
	}
	l := &f.fsys.locks
	l.mu.Lock()
	if delete(l.held[f.node], f); len(l.held[f.node]) == 0 {
		delete(l.held, f.node)
	}
	l.mu.Unlock()
	l.waiters.Wake()
}
