package process

import (
	"errors"
	"fmt"

	"coderunner/internal/sandbox"
)

// trustedData bounds the data of a trusted process, in bytes, with the 555 MiB
// that every Deno has.
const trustedData = 4 << 30

// groupTasks is how many threads a control group may have: one more than
// allowed, so that the watch sees it, too.
const groupTasks = MaxThreads + 1

// groupMemory is how much more memory the control group of a process may have
// than it has when it is limited, in bytes. RLIMIT_DATA comes first, with an
// error in the program and not its death: the group also counts what the
// kernel needs for the pages and the threads.
func groupMemory(limit int64) int64 { return limit + limit/64 + 64<<20 }

// Limit limits a process that has started and waits: its data to what it has
// now plus memory bytes, its files, and what it leaves when it crashes.
func (p *Process) Limit(memory int64) error {
	p.visible = visible(p.Pid())
	p.memory = memory
	peak, data, err := memoryNow(p.Pid())
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // V8's own limit has to do
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

// sample notes how much memory the process has, which lives.
func (p *Process) sample() {
	peak, data, err := memoryNow(p.Pid())
	if err != nil {
		return // it has ended
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peak, p.data = max(p.peak, peak), max(p.data, data)
}

// Filled reports whether the process was seen to have at least half of the
// memory that Limit left it.
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
