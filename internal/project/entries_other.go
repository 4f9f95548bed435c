//go:build !unix

package project

import (
	"io/fs"
	"os"
)

// readEntries is dir.ReadDir(-1).
func readEntries(dir *os.File) ([]fs.DirEntry, error) { return dir.ReadDir(-1) }
