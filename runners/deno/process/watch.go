package process

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"
)

// What a program may have in its folders, and how many threads. Only quotas
// and control groups are exact, which need rights that we mostly do not have: we
// look from time to time, so a fast writer gets somewhat further.
const (
	MaxDiskBytes = 1 << 30
	MaxDiskFiles = 20_000
	MaxThreads   = 1000 // Deno has 6 to begin with, and up to 512 more for files

	watchInterval = 50 * time.Millisecond
	diskEvery     = 4 // looks at the disk take longer
)

var errDiskLimit = errors.New("too much")

// Watch kills the process when it fills the disk or has too many threads,
// until it has ended.
func (p *Process) Watch(dir string) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for i := 1; ; i++ {
		select {
		case <-p.end:
			return
		case <-tick.C:
		}
		if n, err := threads(p.Pid()); err == nil && n > MaxThreads {
			p.Kill(StopThreads)
			return
		}
		if i%diskEvery != 0 {
			continue
		}
		if files, bytes := diskUse(dir); files > MaxDiskFiles || bytes > MaxDiskBytes {
			p.Kill(StopDisk)
			return
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
		if files > MaxDiskFiles || bytes > MaxDiskBytes {
			return errDiskLimit
		}
		return nil
	})
	return files, bytes
}
