package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"go.uber.org/zap"
)

// load finds the state in force: the newest that is whole. What cannot be asked for is not damaged.
func (x *session) load() error {
	r, ok := x.remembered()
	if ok {
		x.was, x.now = r, r.state
	}
	x.clean()
	if ok {
		return nil
	}
	numbers, err := x.numbers()
	if err != nil {
		return fmt.Errorf("open the session %s: %w", x.name, err)
	}
	for _, n := range slices.Backward(numbers) {
		s, err := x.state(n)
		if err == nil {
			x.now = s
			return nil
		}
		if errors.Is(err, errRemote) {
			return err
		}
		x.log.Warn("a state of a session is damaged", zap.String("session", x.name), zap.Int("state", n), zap.Error(err))
	}
	if len(numbers) > 0 {
		return damaged(x.name)
	}
	return x.make() // it was being made when its process ended
}

// damaged is the error of a session that cannot be used.
func damaged(name string) error {
	return refuse("The session %q is damaged on disk, and no state of it is whole: close it and begin again.", name)
}

// Bounds of what a store has in memory: sessions, and blobs of one state.
const (
	maxRecent = 16
	maxNeeds  = 100
)

// recent is what a store knows of a session whose newest state it has committed.
type recent struct {
	state *state
	file  fs.FileInfo              // the state's
	bytes int64                    // of the session's own blobs
	needs map[int]map[string]int64 // what state.blobs returns, by the numbers of states
	spare []string                 // files of states that the history has lost
}

// remember keeps the state that was committed for the next call.
func (x *session) remember(s *state) {
	info, err := os.Lstat(x.statePath(s.Number))
	needs := x.was.needs
	if needs == nil {
		needs = map[int]map[string]int64{}
	}
	if b := s.blobs(); len(b) <= maxNeeds {
		needs[s.Number] = b
	}
	x.was = recent{s, info, x.bytes, needs, x.was.spare}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.recent, x.name)
	if len(x.recent) >= maxRecent {
		clear(x.recent)
	}
	if err == nil && s.Paused == nil { // else the next call reads it
		x.recent[x.name] = x.was
	}
}

// remembered returns the state that this store committed last if it is in force: no other process
// has made one since if that one's file is the same, and there is none of the next number.
func (x *session) remembered() (r recent, ok bool) {
	x.mu.Lock()
	r, ok = x.recent[x.name]
	x.mu.Unlock()
	if !ok {
		return r, false
	}
	n := r.state.Number
	if info, err := os.Lstat(x.statePath(n)); err != nil || !unchanged(r.file, info) {
		return r, false
	}
	_, err := os.Lstat(x.statePath(n + 1))
	return r, errors.Is(err, fs.ErrNotExist) && x.owns(r.state, n) == nil && x.present(r.state) == nil
}
