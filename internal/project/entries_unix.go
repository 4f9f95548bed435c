//go:build unix

package project

import (
	"io/fs"
	"os"
	"syscall"
)

// readEntries is dir.ReadDir(-1) without what that does for a file that was opened by an [os.Root]:
// it asks the host for the size and time of each entry, three quarters of the time.
func readEntries(dir *os.File) ([]fs.DirEntry, error) {
	syscall.ForkLock.RLock() // no process of another goroutine inherits it
	fd, err := syscall.Dup(int(dir.Fd()))
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	same := os.NewFile(uintptr(fd), dir.Name())
	defer same.Close()
	return same.ReadDir(-1)
}
