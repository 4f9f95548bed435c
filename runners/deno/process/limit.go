package process

import (
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
	if err := confine(p.Pid(), memory); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	if err := p.group.LimitMemory(groupMemory(memory)); err != nil {
		return fmt.Errorf("limit the memory of the control group: %w", err)
	}
	return nil
}

// GroupLimits describes the limits of control groups, or why there are none.
func GroupLimits() string {
	if err := sandbox.Delegated(); err != nil {
		return "no control group: " + err.Error()
	}
	return fmt.Sprintf("a control group for each run: all of its memory, to the limit of the run and %d MiB, and %d threads at any moment", groupMemory(0)>>20, groupTasks)
}
