package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// locked calls f with a session that nobody else uses meanwhile. It is made if
// create; otherwise the error is an *Error if there is none.
func (s *Store) locked(ctx context.Context, name string, create bool, f func(*session) error) (err error) {
	if err := CheckName(name); err != nil {
		return err
	}
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return fmt.Errorf("wait for the session %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	x := s.session(name)
	done, err := x.acquire(ctx, create)
	if err != nil {
		return fmt.Errorf("open the session %s: %w", name, err)
	}
	defer done()
	switch exists, err := ownDir(x.path); {
	case err != nil:
		return fmt.Errorf("open the session %s: %w", name, err)
	case exists:
		if err := x.load(); err != nil {
			return err
		}
		x.committed = true
	case !create:
		return s.refuseName(name)
	default:
		if err := s.admit(name); err != nil {
			return errors.Join(err, x.removeRemote())
		}
		if err := x.make(); err != nil {
			return fmt.Errorf("make the session %s: %w", name, err)
		}
	}
	defer x.discard()
	return f(x)
}

// refuseName returns the error of a name that no session has.
func (s *Store) refuseName(name string) error {
	list, begin := "the tool sessions", "run_code"
	if s.command {
		list, begin = `"coderunner sessions"`, fmt.Sprintf(`"coderunner run --session %s FILE"`, name)
	}
	return refuse("There is no session %q; %s lists them, and %s makes one.", name, list, begin)
}

// ownDir reports whether path is there. It must be a directory that only this
// user can write to.
func ownDir(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir() || othersWrite(info, 0o022):
		return false, fmt.Errorf("%s is not a directory that only its owner can change: remove it", path)
	}
	return true, nil
}

// othersWrite reports whether one of the mode's bits lets others write. Windows has none.
func othersWrite(info fs.FileInfo, bits fs.FileMode) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&bits != 0
}

// clean removes what a call left whose process was killed.
func (x *session) clean() {
	entries, _ := os.ReadDir(x.path) // load reports the error
	for _, e := range entries {
		name := filepath.Join(x.path, e.Name())
		if strings.HasPrefix(e.Name(), tempPrefix) && !slices.Contains(x.was.spare, name) {
			_ = os.RemoveAll(name) // the next call tries again
		}
	}
}
