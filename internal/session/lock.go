package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/semaphore"
)

// lock waits for its turn and for other processes.
func (s *Store) lock(ctx context.Context, name string) (unlock func() error, err error) {
	s.mu.Lock()
	q := s.queues[name]
	if q == nil {
		q = &queue{turn: semaphore.NewWeighted(1)}
		s.queues[name] = q
	}
	q.used++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.used--; q.used == 0 {
			delete(s.queues, name)
		}
	}
	if err := q.turn.Acquire(ctx, 1); err != nil {
		leave()
		return nil, err
	}
	free := func() { q.turn.Release(1); leave() }
	locks := filepath.Join(s.dir, locksName)
	if err := os.MkdirAll(locks, 0o700); err != nil {
		free()
		return nil, err
	}
	file := filepath.Join(locks, name)
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() { // a FIFO would be waited for
		free()
		return nil, fmt.Errorf("lock %s: it is not a regular file", file)
	}
	l := flock.New(file, flock.SetPermissions(0o600))
	const poll = 5 * time.Millisecond
	if ok, err := l.TryLockContext(ctx, poll); err != nil || !ok {
		free()
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return func() error { defer free(); return l.Close() }, nil
}
