package process

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"coderunner/internal/sandbox"
	"coderunner/runners"
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

	memoryInterval = 5 * time.Millisecond // a fifth of it above half of the limit
)

// MaxWorkers is how many Workers a program can have at a time. For the machine code
// of each, V8 reserves 510 MiB of writable memory and uses little of it: workersData
// is what RLIMIT_DATA allows besides the limit of a program that has Workers.
const (
	MaxWorkers  = 32
	workersData = MaxWorkers * 540 << 20
)

// diskLimits describes the limits of what a process writes.
var diskLimits = fmt.Sprintf("the program wrote more than %d MiB or %d files, or nested directories more than %d deep, in its working directory", maxDiskBytes>>20, maxDiskFiles, maxDiskDepth)

// Explain sets the status and the error of a program that was killed for a limit, or
// because its context ended. It reports whether this was why.
func (s Stop) Explain(o *runners.Outcome, limits runners.Limits) bool {
	exceeded := func(status runners.Status) { o.Status, o.Error = status, limits.Exceeded(status) }
	fail := func(status runners.Status, kind, text string) {
		o.Status, o.Error = status, &runners.Error{Type: kind, Message: text}
	}
	switch s {
	case StopTime:
		exceeded(runners.TimedOut)
	case StopOutput:
		exceeded(runners.OutputLimit)
	case StopMemory:
		exceeded(runners.OutOfMemory)
	case StopContext:
		exceeded(runners.Cancelled)
	case StopDisk:
		fail(runners.OutputLimit, "DiskLimit", diskLimits+"; these limits are fixed")
	case StopSpace:
		fail(runners.OutputLimit, "DiskLimit", "the disk of this machine is nearly full, and the program went on writing")
	case StopThreads:
		fail(runners.Failed, "ThreadLimit", fmt.Sprintf("the program had more than %d threads; this limit is fixed", MaxThreads))
	default:
		return false
	}
	return true
}

// LimitTime kills the process when ctx ends or a time has passed, until stop is called.
func (p *Process) LimitTime(ctx context.Context, limit time.Duration) (stop func()) {
	undo := context.AfterFunc(ctx, func() { p.Kill(StopContext) })
	timer := time.AfterFunc(limit, func() { p.Kill(StopTime) })
	return func() { undo(); timer.Stop() }
}

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

// Limits of files on Linux.
const (
	maxFileSize  = 1 << 30 // bytes of each file that a program writes
	maxOpenFiles = 4096
)

// Limits describes how processes are limited, a short sentence each.
func Limits() []string {
	if runtime.GOOS != "linux" {
		return []string{
			"memory: V8's heap, to the limit of the run",
			fmt.Sprintf("files: %d MiB and %d of them in the run's directory, counted every %v", maxDiskBytes>>20, maxDiskFiles, diskEvery*watchInterval),
		}
	}
	return []string{
		"memory: data and stacks of threads by RLIMIT_DATA, to the limit of the run",
		fmt.Sprintf("memory of programs that name Workers: what they use, sampled every %v (%v above half of the limit), and at most %d Workers", memoryInterval, memoryInterval/5, MaxWorkers),
		fmt.Sprintf("threads: %d, counted every %v; RLIMIT_NPROC would count all of the user's, and not root's", MaxThreads, watchInterval),
		fmt.Sprintf("files: %d open at a time, %d MiB each, %d MiB and %d of them in the run's directory, counted every %v; no core dumps",
			maxOpenFiles, maxFileSize>>20, maxDiskBytes>>20, maxDiskFiles, diskEvery*watchInterval),
		"it is killed when this program ends, in whatever way",
	}
}

// GroupLimits describes the limits of control groups, or why there are none.
func GroupLimits() string {
	if err := sandbox.Delegated(); err != nil {
		return "no control group: " + err.Error()
	}
	return fmt.Sprintf("a control group for each run: all of its memory, to the limit of the run and %d MiB, and %d threads at any moment", groupMemory(0)>>20, groupTasks)
}

// memory is what a process has, in bytes.
type memory struct {
	peak int64 // the most that was resident
	data int64 // its private writable address space
	anon int64 // what of that it has touched
}

// Page is the least that a pipe holds, in bytes.
const Page = 4096

// Input is our end of a process's standard input.
type Input struct{ *os.File }
