//go:build unix

package cache

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// look returns what the system knows of a file without reading it.
func look(path string) (state, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return state{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return state{
		device: uint64(st.Dev), inode: st.Ino, size: st.Size, mode: uint32(st.Mode),
		modified: time.Unix(st.Mtim.Unix()), changed: time.Unix(st.Ctim.Unix()),
		regular: st.Mode&unix.S_IFMT == unix.S_IFREG,
	}, nil
}

// linkedFile returns which file it is if that has several names.
func linkedFile(info fs.FileInfo) (fileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink < 2 {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino}, true
}

// userID returns the owner of a file.
func userID(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return os.Geteuid()
}
