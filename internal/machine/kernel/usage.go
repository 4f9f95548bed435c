package kernel

import (
	"maps"
	"slices"
	"time"
)

// Usage is what a process uses of the machine.
type Usage struct {
	Memory int64 // bytes
	CPU    time.Duration
}

// Measure sets what returns the usage of the process's program while it runs; nil:
// it is not known any more. measure may be called by any goroutine.
func (p *Process) Measure(measure func() Usage) {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	p.measure, p.measured = measure, true
}

// Usage returns what the process uses. Of a program that does not tell, a command or
// the shell, the processor time is that in which it did not wait, and the memory is
// not known.
func (p *Process) Usage() Usage {
	p.k.mu.Lock()
	u, measure := Usage{CPU: p.cpuLocked()}, p.measure
	p.k.mu.Unlock()
	if measure != nil {
		now := measure()
		u = Usage{now.Memory, u.CPU + now.CPU}
	}
	return u
}

// cpuLocked returns the processor time without that of a program that runs and is
// measured.
func (p *Process) cpuLocked() time.Duration {
	if p.measured {
		return p.cpu
	}
	until := p.k.Uptime()
	if p.exited {
		until = p.ended
	}
	if p.waiting > 0 {
		until = min(until, p.asleep)
	}
	return until - p.began - p.idle
}

// Idle notes that the process waits while wait runs.
func (p *Process) Idle(wait func()) {
	p.k.mu.Lock()
	if p.waiting++; p.waiting == 1 {
		p.asleep = p.k.Uptime()
	}
	p.k.mu.Unlock()
	defer func() {
		p.k.mu.Lock()
		defer p.k.mu.Unlock()
		if p.waiting--; p.waiting == 0 {
			p.idle += p.k.Uptime() - p.asleep
		}
	}()
	wait()
}

// AddCPU adds to the processor time that the process has used.
func (p *Process) AddCPU(d time.Duration) {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	p.cpu += d
}

// ChildCPU returns the processor time of the children that were waited for.
func (p *Process) ChildCPU() time.Duration {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	return p.childCPU
}

// CPU returns the processor time that the processes which have ended reported by
// [Process.AddCPU].
func (k *Kernel) CPU() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cpu
}

// Uptime returns for how long the machine has been there.
func (k *Kernel) Uptime() time.Duration { return time.Since(k.began) }

// Age returns for how long the process has been there.
func (p *Process) Age() time.Duration { return p.k.Uptime() - p.began }

// Busy returns the processor time of all processes so far.
func (k *Kernel) Busy() time.Duration {
	k.mu.Lock()
	total := k.busy
	k.mu.Unlock()
	for _, p := range k.Processes() {
		total += p.Usage().CPU
	}
	return total
}

// Processes returns the processes, also those that have ended and that nobody has
// waited for, by their numbers.
func (k *Kernel) Processes() []*Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := make([]*Process, 0, len(k.processes))
	for _, pid := range slices.Sorted(maps.Keys(k.processes)) {
		list = append(list, k.processes[pid])
	}
	return list
}
