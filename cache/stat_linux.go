package cache

import (
	"io/fs"
	"syscall"
	"time"
)

// identity tells a file from others on this machine, and when the system last
// noted a change of it.
func identity(info fs.FileInfo) (device, inode uint64, changed time.Time) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, info.ModTime()
	}
	return uint64(st.Dev), st.Ino, time.Unix(st.Ctim.Unix())
}
