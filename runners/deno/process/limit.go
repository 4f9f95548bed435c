package process

import (
	"errors"
	"fmt"

	"coderunner/internal/sandbox"
)

// trustedData bounds the data of a trusted process, in bytes, including the 555
// MiB of every Deno.
const trustedData = 4 << 30

// groupTasks bounds the threads of a control group: one more than MaxThreads, so
// that Watch sees the excess, too.
const groupTasks = MaxThreads + 1

// groupMemory is the cgroup limit above current use, in bytes. RLIMIT_DATA strikes
// first, so allocation fails instead of a kill; the group also counts the
// kernel's memory for pages and threads.
func groupMemory(limit int64) int64 { return limit + limit/64 + 64<<20 }

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

// sample records the memory of the living process.
func (p *Process) sample() {
	peak, data, err := memoryNow(p.Pid())
	if err != nil {
		return // it has ended
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peak, p.data = max(p.peak, peak), max(p.data, data)
}

// Filled reports whether a sample had at least half of the memory that Limit
// allows.
func (p *Process) Filled() bool {
	peak := p.Usage().Peak
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.memory > 0 && max(peak-p.firstPeak, p.data-p.firstData) >= p.memory/2
}

// GroupLimits describes the limits of control groups, or why there are none.
func GroupLimits() string {
	if err := sandbox.Delegated(); err != nil {
		return "no control group: " + err.Error()
	}
	return fmt.Sprintf("a control group for each run: all of its memory, to the limit of the run and %d MiB, and %d threads at any moment", groupMemory(0)>>20, groupTasks)
}
