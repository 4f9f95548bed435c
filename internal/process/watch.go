package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrEnded is in the error of Limit for a process that has ended.
var ErrEnded = errors.New("it has ended")

// Limit limits an idle process, or one that has just begun: its data to the current
// size plus limit bytes, its files, and its core dumps. It returns what the process has used.
func (p *Process) Limit(limit int64) (before Usage, err error) {
	p.visible = visible(p.Pid())
	p.limit = limit
	before.CPU, _ = used(p.Pid())
	p.first, err = memoryNow(p.Pid())
	if errors.Is(err, errors.ErrUnsupported) {
		return before, nil // only V8's own limit applies
	}
	before.Peak = p.first.peak
	if err == nil {
		data := uint64(p.first.data + limit)
		err = setLimits(p.Pid(), data, data+workersData)
	}
	if err == nil {
		err = p.group.LimitMemory(groupMemory(limit))
	}
	if err != nil {
		return before, fmt.Errorf("limit process %d: %w", p.Pid(), err)
	}
	return before, nil
}

// Settle decides whether the program may start Workers. Then RLIMIT_DATA has room
// for what V8 reserves for them, and Watch samples the memory in use; otherwise
// RLIMIT_DATA is exact. If more programs follow, it can be decided again.
func (p *Process) Settle(workers, more bool) {
	if p.first.data == 0 {
		return // Limit could not limit it
	}
	p.workers = workers
	data := uint64(p.first.data + p.limit)
	most := data
	if more || workers {
		most += workersData
	}
	if workers {
		data = most
	}
	_ = setData(p.Pid(), data, most) // it may have ended
}

// Filled reports whether a sample, or what Usage returned, had at least half of the memory
// that Limit allows.
func (p *Process) Filled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	peak := p.most.peak - p.first.peak
	if !p.workers { // what V8 reserves for a Worker is data, too
		peak = max(peak, p.most.data-p.first.data)
	}
	return p.limit > 0 && peak >= p.limit/2
}

// watchMemory samples the memory of a process with Workers until it or ctx ends, and
// kills it when it exceeds the limit.
func (p *Process) watchMemory(ctx context.Context) {
	next := time.NewTimer(memoryInterval)
	defer next.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-ctx.Done():
			return
		case <-next.C:
		}
		used := p.sample().anon - p.first.anon
		if used > p.limit {
			p.Kill(StopMemory)
			return
		}
		if used > p.limit/2 {
			next.Reset(memoryInterval / 5)
		} else {
			next.Reset(memoryInterval)
		}
	}
}

// Watch samples the process until it ends or ctx does, and kills it when it
// exceeds the limits of disk, threads or memory. Dir is where it may write.
func (p *Process) Watch(ctx context.Context, dir string) {
	if p.workers {
		var memory sync.WaitGroup
		memory.Go(func() { p.watchMemory(ctx) })
		defer memory.Wait()
	}
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	hurry := false
	for i := 1; ; i++ {
		select {
		case <-p.end:
			return
		case <-ctx.Done():
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
		u, err := countDisk(p, dir)
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
