package cache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"coderunner/internal/procdir"
)

// lockRetry is the interval at which a waiting process tries a lock. A blocking
// flock cannot be cancelled by a context.
const lockRetry = 25 * time.Millisecond

// locks are the locks of a root.
type locks struct {
	root string
	keyedSemaphore
}

// take takes the lock called name, waiting until it is free or ctx is done.
func (l *locks) take(ctx context.Context, name string) (unlock func(), err error) {
	leave, err := l.enter(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return l.flock(ctx, name, leave, (*flock.Flock).TryLockContext)
}

// share takes the lock together with others who share it.
func (l *locks) share(ctx context.Context, name string) (unlock func(), err error) {
	return l.flock(ctx, name, func() {}, (*flock.Flock).TryRLockContext)
}

func (l *locks) flock(ctx context.Context, name string, leave func(), try func(*flock.Flock, context.Context, time.Duration) (bool, error)) (unlock func(), err error) {
	path := filepath.Join(l.root, lockDir, name+".lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		leave()
		return nil, NewStorageError("create", filepath.Dir(path), err)
	}
	f := flock.New(path)
	ok, err := try(f, ctx, lockRetry)
	switch {
	case ok:
		return func() { _ = f.Close(); leave() }, nil
	case procdir.Unsupported(err):
		return leave, nil
	}
	leave()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("lock %s: %w", name, ContextErr(ctx))
	}
	return nil, NewStorageError("lock", path, err)
}

// keyedSemaphore lets one goroutine at a time in for each key. The zero value
// is ready to use.
type keyedSemaphore struct {
	mu   sync.Mutex
	keys map[string]*semaphore
}

type semaphore struct {
	turn  chan struct{} // holds a token while a goroutine is in
	users int           // inside or waiting, under keyedSemaphore.mu
}

// enter waits for the key's turn.
func (k *keyedSemaphore) enter(ctx context.Context, key string) (leave func(), err error) {
	k.mu.Lock()
	if k.keys == nil {
		k.keys = map[string]*semaphore{}
	}
	s := k.keys[key]
	if s == nil {
		s = &semaphore{turn: make(chan struct{}, 1)}
		k.keys[key] = s
	}
	s.users++
	k.mu.Unlock()

	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn; k.drop(key, s) }, nil
	case <-ctx.Done():
		k.drop(key, s)
		return nil, ContextErr(ctx)
	}
}

func (k *keyedSemaphore) drop(key string, s *semaphore) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(k.keys, key)
	}
}
