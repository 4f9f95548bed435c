package cache

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFilesystem writes out the whole file system that dir is on: one wait
// for the disk instead of one for each file.
func syncFilesystem(dir string) (done bool, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return false, nil
	}
	defer d.Close()
	err = unix.Syncfs(int(d.Fd()))
	if err == unix.ENOSYS {
		return false, nil
	}
	return true, NewStorageError("sync", dir, err)
}
