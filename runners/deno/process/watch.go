package process

import (
	"errors"
	"fmt"
	"time"
)

// Limit limits an idle process: its data to the current size plus memory bytes,
// its files, and its core dumps.
func (p *Process) Limit(memory int64) error {
	p.visible = visible(p.Pid())
	p.memory = memory
	peak, data, err := memoryNow(p.Pid())
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // only V8's own limit applies
	}
	p.firstPeak, p.firstData = peak, data
	if err == nil {
		err = setLimits(p.Pid(), uint64(data+memory))
	}
	if err == nil {
		err = p.group.LimitMemory(groupMemory(memory))
	}
	if err != nil {
		return fmt.Errorf("limit process %d: %w", p.Pid(), err)
	}
	return nil
}

// Filled reports whether a sample had at least half of the memory that Limit
// allows.
func (p *Process) Filled() bool {
	peak := p.Usage().Peak
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.memory > 0 && max(peak-p.firstPeak, p.data-p.firstData) >= p.memory/2
}

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
