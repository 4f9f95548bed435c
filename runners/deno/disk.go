package deno

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"
)

// What a program may have in its folders. Only a quota of the file system
// would be exact: we look from time to time, so a fast writer gets somewhat
// further.
const (
	maxDiskBytes = 1 << 30
	maxDiskFiles = 20_000
	diskInterval = 200 * time.Millisecond
)

var errDiskLimit = errors.New("too much")

// watchDisk kills the process when it fills the disk, until it has ended.
func watchDisk(p *process, dir string) {
	tick := time.NewTicker(diskInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-tick.C:
			if files, bytes := diskUse(dir); files > maxDiskFiles || bytes > maxDiskBytes {
				p.kill(stopDisk)
				return
			}
		}
	}
}

// diskUse counts the files in a folder, and the bytes that they take, up to
// the limits. What the process may not read itself any more, we may not
// either: then it can put nothing there.
func diskUse(dir string) (files int, bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed meanwhile
		}
		files++
		if d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += allocated(info)
			}
		}
		if files > maxDiskFiles || bytes > maxDiskBytes {
			return errDiskLimit
		}
		return nil
	})
	return files, bytes
}
