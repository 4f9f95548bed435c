package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"coderunner/runners"
)

// commit makes s the state in force. Its blobs are there. What the limits do not
// allow is an *Error, and the session stays as it was.
func (x *session) commit(s *state) error {
	s.Number, s.When = x.now.Number+1, time.Now().UTC()
	if s.Life = ""; x.lease != nil {
		s.Life = x.lease.life
	}
	s.Action = runners.ClipLine(strings.ToValidUTF8(s.Action, "\ufffd"), maxAction*2/3) // and a mark
	if err := x.limit(s); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("commit a state: %w", err)
	}
	b, err := s.format()
	if err != nil {
		return err
	}
	x.committed = false
	if err := x.push(s, b); err != nil {
		return fmt.Errorf("commit a state: %w", err)
	}
	if err := x.publish(b, s.Number); err != nil {
		return fmt.Errorf("commit a state: %w", err)
	}
	x.committed = true
	x.now = s
	clear(x.pending)
	if err := x.trim(); err != nil {
		x.log.Warn("trim the history of a session", zap.String("session", x.name), zap.Error(err))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counted[x.name] = counted{s.Number, s.When, x.bytes}
	return nil
}

// counted is how many bytes the blobs of a session had in a state.
type counted struct {
	number int
	when   time.Time
	bytes  int64
}

// count sets x.bytes, with the blobs of the state that is to be committed. Those of a state
// that this process has committed are not counted again. x.mu is held.
func (x *session) count() {
	was, ok := x.counted[x.name]
	if !ok || was.number != x.now.Number || !was.when.Equal(x.now.When) {
		x.bytes = x.size()
		return
	}
	x.bytes = was.bytes
	for name := range x.pending {
		if info, err := os.Lstat(x.blob(name)); err == nil && !strings.HasPrefix(name, sharedPrefix) {
			x.bytes += info.Size()
		}
	}
}

// limit refuses a state that is too large.
func (x *session) limit(s *state) error {
	need := int64(0)
	for name, size := range s.blobs() {
		if !strings.HasPrefix(name, sharedPrefix) {
			need += size
		}
	}
	if len(s.Files) > maxFiles {
		return refuse("The session would have %d files; at most %d are kept: delete some.", len(s.Files), maxFiles)
	}
	if need > x.limits.Size {
		return refuse("The session would take %d MiB, and its limit is %d MiB (CODE_RUNNER_SESSION_SIZE on the server): delete files or variables.", need>>20, x.limits.Size>>20)
	}
	x.sweepIfDue()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count()
	x.sizes[x.name] = min(x.bytes, x.limits.Size)
	total := int64(0)
	for _, n := range x.sizes {
		total += n
	}
	if total > x.limits.Bytes {
		return refuse("All sessions together take %d MiB, and their limit is %d MiB (CODE_RUNNER_SESSION_DISK on the server): close one with %s.", total>>20, x.limits.Bytes>>20, x.closes())
	}
	return nil
}

// closes returns how a caller closes a session.
func (s *Store) closes() string {
	if s.command {
		return `"coderunner sessions close NAME"`
	}
	return "the tool sessions"
}

// trim removes the oldest states beyond the limits of the history. It does not
// look at each state after each call.
func (x *session) trim() error {
	if more := x.limits.History/4 + 1; x.now.Number%more != 0 && x.bytes <= x.limits.Size {
		return nil
	}
	numbers, err := x.numbers()
	if err != nil {
		return err
	}
	if len(numbers) > x.limits.History+x.limits.History/4 {
		err = x.keep(x.limits.History)
		x.bytes = x.size()
	}
	for n := min(len(numbers), x.limits.History); n > 1 && err == nil && x.bytes > x.limits.Size; n /= 2 {
		err = x.keep(n / 2)
		x.bytes = x.size()
	}
	return err
}

// keep removes all states but the newest n, and the blobs that these do not need.
func (x *session) keep(n int) error {
	numbers, err := x.numbers()
	if err != nil || len(numbers) <= n {
		return err
	}
	for _, old := range numbers[:len(numbers)-n] {
		if err := os.Remove(x.statePath(old)); err != nil {
			return err
		}
	}
	needed := map[string]int64{}
	for _, kept := range numbers[len(numbers)-n:] {
		s, err := x.manifest(kept)
		if err != nil {
			continue // damaged
		}
		maps.Copy(needed, s.blobs())
	}
	entries, err := os.ReadDir(filepath.Join(x.path, blobsName))
	for _, e := range entries {
		if _, ok := needed[e.Name()]; !ok {
			err = errors.Join(err, os.Remove(x.blob(e.Name())))
		}
	}
	x.thinRemote(numbers[:len(numbers)-n], needed)
	return err
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
	delete(x.counted, x.name)
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

// listTime bounds the time in which the names of sessions are listed.
const listTime = 30 * time.Second

// names returns the names of the sessions.
func (s *Store) names() ([]string, error) {
	if s.remote == nil {
		return s.localNames()
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	names, err := s.remote.Names(ctx, s.namespace+"/")
	return slices.DeleteFunc(names, func(n string) bool { return !namePattern.MatchString(n) }), remoteError(err)
}

// localNames returns the names of the sessions on disk.
func (s *Store) localNames() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && namePattern.MatchString(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// sweepTime is how often the sessions are looked at as a whole.
const sweepTime = 10 * time.Minute

// sweepWait is how long a session that is past its time is waited for.
const sweepWait = 20 * time.Millisecond

// admit sees to it that a session of a new name is within the limits. Sessions
// that nobody has used for long are removed.
func (s *Store) admit(name string) error {
	names, err := s.names()
	if err != nil {
		return err
	}
	if len(names) >= s.limits.Sessions {
		s.sweep()
		if names, err = s.names(); err != nil {
			return err
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == name }) // its head is there already
	if len(names) >= s.limits.Sessions {
		return refuse("There are %d sessions, which is the limit (CODE_RUNNER_SESSIONS on the server): close one with %s.", len(names), s.closes())
	}
	return nil
}

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
