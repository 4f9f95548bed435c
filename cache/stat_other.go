//go:build !linux && !darwin

package cache

import (
	"io/fs"
	"time"
)

// identity has less to say where the system tells less: a file that was
// replaced is noticed by its time or size only.
func identity(info fs.FileInfo) (device, inode uint64, changed time.Time) {
	return 0, 0, info.ModTime()
}
