package session

import (
	"os"
	"slices"
	"strings"
)

// count sets x.bytes, with the blobs of the state that is to be committed. Those of a state
// that this process has committed are not counted again. x.mu is held.
func (x *session) count() {
	if x.was.state != x.now {
		x.bytes = x.size()
		return
	}
	x.bytes = x.was.bytes
	for _, data := range x.inline {
		x.bytes += int64(len(data))
	}
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
	for _, data := range s.inline {
		need += int64(len(data))
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
		return refuse("There are %d sessions, and the limit is %d (CODE_RUNNER_SESSIONS on the server): close one with %s.", len(names), s.limits.Sessions, s.closes())
	}
	return nil
}
