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
	p.measure = measure
}

// Usage returns what the process uses, as far as its program tells: that of commands
// is not known.
func (p *Process) Usage() Usage {
	p.k.mu.Lock()
	measure, ended := p.measure, p.cpu
	p.k.mu.Unlock()
	u := Usage{}
	if measure != nil {
		u = measure()
	}
	u.CPU += ended
	return u
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
	total := k.CPU()
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
