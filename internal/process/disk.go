package process

import (
	"errors"
)

// errDisk reports a process over its disk limits, or files that cannot be counted.
var errDisk = errors.New("disk limit exceeded or not countable")

// diskUse counts what a process has on the disk.
type diskUse struct {
	files int
	bytes int64
	full  bool // the disk has less than keepFree left
	seen  map[[2]uint64]bool
}

// add counts a file with its number of links.
func (u *diskUse) add(dev, ino, links uint64, bytes int64) error {
	u.files++
	if links != 1 {
		// It may be counted again, under another name or descriptor.
		if id := [2]uint64{dev, ino}; u.seen[id] {
			bytes = 0
		} else {
			u.seen[id] = true
		}
	}
	if u.bytes += bytes; u.files > maxDiskFiles || u.bytes > maxDiskBytes {
		return errDisk
	}
	return nil
}
