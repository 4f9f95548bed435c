package process

import (
	"errors"
	"fmt"
	"time"
)

// What a process may have in its directory, and how many threads. Only quotas
// and control groups are exact, which need rights that we mostly do not have:
// we look from time to time, so a fast writer gets somewhat further.
const (
	maxDiskBytes = 1 << 30
	maxDiskFiles = 20_000
	maxDiskDepth = 200
	MaxThreads   = 1000 // Deno has 6 to begin with, and up to 512 more for files

	// keepFree is how much of a disk stays free, at most a twentieth of it, for
	// everybody else. Who has written less than fewBytes is not to blame.
	keepFree = 512 << 20
	fewBytes = 16 << 20

	watchInterval = 50 * time.Millisecond
	diskEvery     = 4 // looks at the disk take longer
)

// DiskLimits describes the limits of what a process writes.
var DiskLimits = fmt.Sprintf("the program wrote more than %d MiB or %d files, or nested directories more than %d deep, in its working directory", maxDiskBytes>>20, maxDiskFiles, maxDiskDepth)

// errDisk is returned where a process has more than it may, or hides it.
var errDisk = errors.New("too much, or hidden")

// Watch kills the process when it fills the disk or has too many threads,
// until it has ended. Dir is where it may write.
func (p *Process) Watch(dir string) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	hurry := false
	for i := 1; ; i++ {
		select {
		case <-p.end:
			return
		case <-tick.C:
		}
		p.sample()
		if n, err := threads(p.Pid()); err == nil && n > MaxThreads {
			p.Kill(StopThreads)
			return
		}
		if i%diskEvery != 0 && !hurry {
			continue
		}
		u, err := p.countDisk(dir)
		switch {
		case err != nil:
			p.Kill(StopDisk)
			return
		case u.bytes > fewBytes && u.full:
			p.Kill(StopSpace)
			return
		}
		hurry = u.bytes > maxDiskBytes/4
	}
}

// diskUse is what a process has on the disk.
type diskUse struct {
	files int
	bytes int64
	full  bool // the disk has less than keepFree left
	seen  map[[2]uint64]bool
}

// add counts a file, which has so many links.
func (u *diskUse) add(dev, ino, links uint64, bytes int64) error {
	u.files++
	if links != 1 {
		// It may be found again, under another name or descriptor.
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
