//go:build !unix

package cache

import (
	"io/fs"
	"os"
)

// look returns what the system knows of a file without reading it. A file that
// was replaced is noticed by its time or size only.
func look(path string) (state, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return state{}, err
	}
	return state{
		size: info.Size(), mode: uint32(info.Mode()), modified: info.ModTime(), changed: info.ModTime(),
		regular: info.Mode().IsRegular(),
	}, nil
}

// linkedFile returns nothing of a file's other names here.
func linkedFile(fs.FileInfo) (fileID, bool) { return fileID{}, false }

// userID returns the same for every file: access lists guard the user's
// directories here.
func userID(fs.FileInfo) int { return 0 }
