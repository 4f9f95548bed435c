package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"
)

func TestErrno(t *testing.T) {
	for e, want := range map[Errno]string{
		OK: "OK: Success", ENOENT: "ENOENT: No such file or directory",
		EAGAIN: "EAGAIN: Resource temporarily unavailable",
		58:     "errno 58", 60000: "errno 60000",
	} {
		if got := e.Error(); got != want {
			t.Errorf("Errno(%d).Error() = %q, want %q", uint16(e), got, want)
		}
	}
	for _, c := range []struct {
		e    Errno
		want error
	}{
		{ENOENT, fs.ErrNotExist}, {EEXIST, fs.ErrExist}, {ENOTEMPTY, fs.ErrExist}, {EACCES, fs.ErrPermission},
		{EPERM, fs.ErrPermission}, {EROFS, fs.ErrPermission}, {EINVAL, fs.ErrInvalid}, {EBADF, fs.ErrClosed},
	} {
		wrapped := fmt.Errorf("open x: %w", c.e)
		for _, target := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed} {
			if got := errors.Is(wrapped, target); got != (target == c.want) {
				t.Errorf("errors.Is(%v, %v) = %v", c.e, target, got)
			}
		}
	}
	if err := OK.Err(); err != nil {
		t.Errorf("OK.Err() = %v", err)
	}
	if err := EIO.Err(); err != EIO {
		t.Errorf("EIO.Err() = %v", err)
	}
	// Numbers in WASI's order, not in Linux's.
	for e, n := range map[Errno]int{ENOENT: 44, EBADF: 8, EINVAL: 28, ENOTTY: 59, EPERM: 63, ENOSYS: 52, EOPNOTSUPP: 138} {
		if int(e) != n {
			t.Errorf("%s = %d, want %d", e.Name(), int(e), n)
		}
	}
	seen := map[int32]bool{27: true} // see LinuxNumbers
	for _, pair := range LinuxNumbers() {
		if seen[pair[1]] {
			t.Errorf("%s has Linux's number %d, as another has", Errno(pair[0]).Name(), pair[1])
		}
		seen[pair[1]] = true
	}
	if b, err := json.Marshal([]Errno{OK, ENOENT, 58}); string(b) != "[0,2,58]" {
		t.Errorf("as JSON: %s, %v", b, err)
	}
}

func TestFileMode(t *testing.T) {
	for mode, want := range map[uint32]string{
		S_IFREG | 0o644: "-rw-r--r--", S_IFDIR | S_ISVTX | 0o777: "dtrwxrwxrwx", S_IFLNK | 0o777: "Lrwxrwxrwx",
		S_IFIFO | 0o600: "prw-------", S_IFCHR | 0o666: "Dcrw-rw-rw-", S_IFSOCK: "S---------",
		S_IFREG | S_ISUID | S_ISGID: "ug---------", S_IFBLK: "D---------",
	} {
		if got := FileMode(mode).String(); got != want {
			t.Errorf("FileMode(%#o) = %s, want %s", mode, got, want)
		}
	}
	for mode, want := range map[uint32]uint8{S_IFREG: DT_REG, S_IFDIR | 0o777: DT_DIR, S_IFLNK: DT_LNK, S_IFCHR: DT_CHR, S_IFIFO: DT_FIFO} {
		if got := DirentType(mode); got != want {
			t.Errorf("DirentType(%#o) = %d, want %d", mode, got, want)
		}
	}
}

func TestTimespec(t *testing.T) {
	early := time.Unix(-1, 5)
	ts := NewTimespec(early)
	if ts != (Timespec{-1, 5}) || !ts.Time().Equal(early) {
		t.Errorf("NewTimespec(%v) = %v", early, ts)
	}
	if !ts.Before(Timespec{-1, 6}) || !ts.Before(Timespec{0, 0}) || ts.Before(ts) || (Timespec{1, 0}).Before(ts) {
		t.Error("Before is not an order")
	}
}
