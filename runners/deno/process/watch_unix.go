//go:build unix

package process

import (
	"io/fs"
	"syscall"
)

// allocated gives the bytes that a file takes on the disk.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return info.Size()
}
