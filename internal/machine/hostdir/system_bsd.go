//go:build unix && !linux

package hostdir

import (
	"io/fs"
	"os"
	"syscall"

	"coderunner/internal/machine/abi"
)

// system adds what only the system knows of a file.
func system(st *abi.Stat, info fs.FileInfo) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		st.Dev, st.Ino, st.Nlink = uint32(s.Dev), uint64(s.Ino), uint32(s.Nlink)
		setOwner(st, s.Uid)
	}
}

func kernelView(fs.FileInfo, *os.Root) bool { return false }
