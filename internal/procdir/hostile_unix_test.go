//go:build unix

package procdir

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestStrangers puts into the parent what other users may put there. Nothing of
// it is followed, created in, waited for or removed.
func TestStrangers(t *testing.T) {
	outside := t.TempDir()
	target := filepath.Join(outside, "target")
	check(t, os.Mkdir(target, 0o700))
	check(t, os.WriteFile(filepath.Join(target, lockName), nil, 0o600))
	dir := func(mode fs.FileMode) func(string) error {
		return func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)) }
	}
	with := func(fill func(lock string) error) func(string) error {
		return func(path string) error {
			return errors.Join(os.Mkdir(path, 0o700), fill(filepath.Join(path, lockName)))
		}
	}
	socket := func(path string) error {
		l, err := net.Listen("unix", path)
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	}
	for name, plant := range map[string]func(path string) error{
		"file":           func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"fifo":           func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"socket":         socket,
		"link":           func(path string) error { return os.Symlink(target, path) },
		"dangling link":  func(path string) error { return os.Symlink(filepath.Join(outside, "none"), path) },
		"open to others": dir(0o755),
		"lock is a fifo": with(func(lock string) error { return syscall.Mkfifo(lock, 0o666) }),
		"lock is a link": with(func(lock string) error { return os.Symlink(filepath.Join(outside, "made"), lock) }),
		"lock is a dir":  with(func(lock string) error { return os.Mkdir(lock, 0o700) }),
		"lock is a sock": with(socket),
		"another's": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, lockName), nil, 0o600), os.Chown(path, 12345, 12345))
		},
		"another's, bare": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 12345, 12345)) },
	} {
		t.Run(name, func(t *testing.T) {
			parent, err := os.MkdirTemp("", "p") // short enough for a socket
			check(t, err)
			defer os.RemoveAll(parent)
			path := filepath.Join(parent, prefix+"x")
			err = plant(path)
			if strings.HasPrefix(name, "another's") && errors.Is(err, fs.ErrPermission) {
				t.Skip("only root may give directories away")
			}
			check(t, err)
			before, err := os.Lstat(path)
			check(t, err)
			d, err := Make(parent, prefix) // and it does not wait
			check(t, err)
			d.Others(prefix)
			check(t, d.Remove())
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
				t.Errorf("it was changed: %v, %v", after, err)
			}
			if exists(filepath.Join(outside, "made")) {
				t.Error("a file was created through a link")
			}
			if !exists(filepath.Join(target, lockName)) {
				t.Error("what a link leads to was removed")
			}
		})
	}
}

// TestRemoveAll removes what an untrusted program may leave: directories that
// cannot be read, at a depth that no path reaches.
func TestRemoveAll(t *testing.T) {
	if os.Geteuid() == 0 { // to root every directory is open
		asNobody(t)
		return
	}
	top := filepath.Join(t.TempDir(), "top")
	check(t, os.Mkdir(top, 0o700))
	root, err := os.OpenRoot(top)
	check(t, err)
	defer root.Close()
	element := strings.Repeat("d", 250)
	path := "."
	for range 30 { // 7,500 bytes
		path += "/" + element
	}
	check(t, root.MkdirAll(path, 0o700))
	for range 100 {
		path += "/d"
	}
	check(t, root.MkdirAll(path, 0o700))
	check(t, root.WriteFile(path+"/file", nil, 0o400))
	for closed := path; closed != "."; closed = filepath.Dir(closed) {
		check(t, root.Chmod(closed, 0))
	}
	check(t, os.Chmod(top, 0))
	check(t, RemoveAll(top))
	if exists(top) {
		t.Error("it is left")
	}
}
