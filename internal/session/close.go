package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Reset empties a session: no files, no variables. Its history stays.
func (s *Store) Reset(ctx context.Context, name string) error {
	return s.locked(ctx, name, false, func(x *session) error { return x.commit(&state{Action: "reset"}) })
}

// Close removes a session with its history.
func (s *Store) Close(ctx context.Context, name string) error {
	return s.locked(ctx, name, false, (*session).remove)
}

// remove removes the session, which has its lock, at once or not at all.
func (x *session) remove() error {
	if err := x.removeRemote(); err != nil {
		return fmt.Errorf("close the session %s: %w", x.name, err)
	}
	trash := filepath.Join(x.dir, ".trash-"+filepath.Base(x.temp()))
	if err := os.Rename(x.path, trash); err != nil {
		return fmt.Errorf("close the session %s: %w", x.name, err)
	}
	x.mu.Lock()
	delete(x.sizes, x.name)
	delete(x.recent, x.name)
	x.mu.Unlock()
	return os.RemoveAll(trash)
}

// removeRemote removes the session from the remote store, if there is one.
func (x *session) removeRemote() error {
	if x.lease == nil {
		return nil
	}
	return x.lease.remove()
}

// closes returns how a caller closes a session.
func (s *Store) closes() string {
	if s.command {
		return `"coderunner sessions close NAME"`
	}
	return "the tool sessions"
}
