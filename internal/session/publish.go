package session

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"coderunner/runners"
)

// maxSynced bounds the blobs that are waited for until the disk has them, in bytes:
// see RATIONALE.md.
const maxSynced = 1 << 20

// commit makes s the state in force. Its blobs are there. What the limits do not
// allow is an *Error, and the session stays as it was.
func (x *session) commit(s *state) error {
	s.Number, s.When = x.now.Number+1, time.Now().UTC()
	if s.Life = ""; x.lease != nil {
		s.Life = x.lease.life
	}
	s.Action = runners.ClipLine(strings.ToValidUTF8(s.Action, "\ufffd"), maxAction*2/3) // and a mark
	if s.inline == nil {
		s.inline = map[string][]byte{}
	}
	maps.Copy(s.inline, x.inline)
	saved := s.saved()
	maps.DeleteFunc(s.inline, func(name string, _ []byte) bool { _, ok := saved[name]; return !ok })
	if err := x.limit(s); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("commit a state: %w", err)
	}
	parts, err := s.format()
	if err != nil {
		return err
	}
	x.committed = false
	if err := x.push(s, parts); err != nil {
		return fmt.Errorf("commit a state: %w", err)
	}
	if err := x.publish(parts, s.Number); err != nil {
		return fmt.Errorf("commit a state: %w", err)
	}
	x.committed = true
	x.now = s
	clear(x.pending)
	clear(x.inline)
	if err := x.trim(); err != nil {
		x.log.Warn("trim the history of a session", zap.String("session", x.name), zap.Error(err))
	}
	x.remember(s)
	return nil
}

// publish links a manifest to its name, and waits until the disk has it and what it needs,
// all at once. A link, unlike a rename, never replaces what another process may have put
// there.
func (x *session) publish(manifest [][]byte, n int) (err error) {
	f, err := x.stateFile()
	if err != nil {
		return err
	}
	temp, name := f.Name(), x.statePath(n)
	defer f.Close() // the disk has what was written
	defer os.Remove(temp)
	size := int64(0)
	for _, part := range manifest {
		n, err := f.Write(part)
		if size += int64(n); err != nil {
			return err
		}
	}
	if err := f.Truncate(size); err != nil { // it may have been another state's
		return err
	}
	if err = os.Link(temp, name); errors.Is(err, fs.ErrExist) {
		if _, damaged := x.state(n); damaged != nil && !errors.Is(damaged, errRemote) {
			err = errors.Join(os.RemoveAll(name), os.Link(temp, name))
		}
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(name) // it is not believed in any case
		}
	}()
	changed := []string{filepath.Dir(name)}
	if len(x.pending) > 0 {
		changed = append(changed, filepath.Join(x.path, blobsName))
	}
	defer func() { x.syncing = errgroup.Group{} }() // what one state has failed by is not the next one's
	for _, name := range changed {
		dir, err := os.Open(name)
		if err != nil {
			return err
		}
		x.sync(dir, 0)
	}
	return errors.Join(f.Sync(), x.syncing.Wait())
}

// stateFile opens the file of a state that is to be: one of a state that the history has lost, or
// a new one, which takes longer to make and to sync.
func (x *session) stateFile() (*os.File, error) {
	for len(x.was.spare) > 0 {
		name := x.was.spare[0]
		x.was.spare = x.was.spare[1:]
		if f, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
			return f, nil
		}
		_ = os.Remove(name) // another process has, or it is of an older version
	}
	return os.OpenFile(x.temp(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// sync closes a file of size bytes once the disk has it, and begins with it at once.
func (x *session) sync(f *os.File, size int64) {
	x.syncing.Go(func() (err error) {
		if size <= maxSynced {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
}
