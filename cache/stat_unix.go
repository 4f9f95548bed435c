//go:build unix

package cache

import (
	"io/fs"
	"syscall"
)

// userID is the owner of a file.
func userID(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return 0
}
