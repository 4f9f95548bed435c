package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/zap"
)

// sweepTime is how often the sessions are looked at as a whole.
const sweepTime = 10 * time.Minute

// sweepWait is how long a session that is past its time is waited for.
const sweepWait = 20 * time.Millisecond

// sweepIfDue sweeps when nobody has for some time: the sizes that other processes
// gave their sessions are known from then on.
func (s *Store) sweepIfDue() {
	s.mu.Lock()
	due := time.Since(s.swept) > sweepTime
	if due {
		s.swept = time.Now()
	}
	s.mu.Unlock()
	if due {
		s.sweep()
	}
}

// sweep removes the sessions that are past their time and what was being removed,
// and finds out how large the others are.
func (s *Store) sweep() {
	names, err := s.localNames()
	if err != nil {
		s.log.Warn("sweep the sessions", zap.Error(err))
	}
	trash, _ := filepath.Glob(filepath.Join(s.dir, ".trash-*"))
	for _, dir := range trash {
		_ = os.RemoveAll(dir) // the next sweep tries again
	}
	locks, _ := os.ReadDir(filepath.Join(s.dir, locksName))
	for _, l := range locks {
		if info, err := l.Info(); err == nil && time.Since(info.ModTime()) > s.limits.TTL && !slices.Contains(names, l.Name()) {
			_ = os.Remove(filepath.Join(s.dir, locksName, l.Name()))
		}
	}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(s.dir, name, statesName))
		x := s.session(name)
		if err == nil && time.Since(info.ModTime()) > s.limits.TTL {
			at, cancel := context.WithTimeout(context.Background(), sweepWait)
			unlock, err := s.lock(at, name)
			cancel()
			if err == nil {
				err = errors.Join(x.remove(), unlock())
				s.log.Info("a session is past its time", zap.String("session", name), zap.Error(err))
			}
			continue
		}
		size := x.size()
		s.mu.Lock()
		s.sizes[name] = size
		s.mu.Unlock()
	}
	if s.remote == nil {
		return
	}
	s.sweepShared()
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	sizes, err := s.sweepRemote(ctx)
	if err != nil {
		s.log.Warn("sweep the sessions", zap.Error(err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = sizes
}
