//go:build unix

package procdir

import (
	"io/fs"
	"os"
	"syscall"
)

// guarded are the flags to open a file that another user may have put there.
const guarded = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// owned reports whether the file is this user's and inaccessible to all others.
func owned(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
