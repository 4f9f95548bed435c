package process

import (
	"errors"
	"fmt"
	"time"
)

// Limits of a process's directory and threads. Only quotas and control groups
// are exact, and they need privileges. These limits are sampled, so a fast writer
// gets somewhat further.
const (
	maxDiskBytes = 1 << 30
	maxDiskFiles = 20_000
	maxDiskDepth = 200
	MaxThreads   = 1000 // Deno starts 6, and up to 512 more for files

	// keepFree is the disk space reserved (at most 5 %); processes below fewBytes
	// are not killed for it.
	keepFree = 512 << 20
	fewBytes = 16 << 20

	watchInterval = 50 * time.Millisecond
	diskEvery     = 4 // watch intervals; counting the disk takes longer
)

// DiskLimits describes the limits of what a process writes.
var DiskLimits = fmt.Sprintf("the program wrote more than %d MiB or %d files, or nested directories more than %d deep, in its working directory", maxDiskBytes>>20, maxDiskFiles, maxDiskDepth)

// errDisk reports a process over its disk limits, or files that cannot be counted.
var errDisk = errors.New("disk limit exceeded or not countable")

// Watch samples the process until it ends, and kills it when it exceeds the limits
// of disk or threads. Dir is where it may write.
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
