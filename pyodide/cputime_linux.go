package pyodide

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadID returns the number of the calling thread.
func threadID() int { return unix.Gettid() }

// threadTime returns the processor time that a thread of this process has used. Its
// clock's number is clock_getcpuclockid(3)'s.
func threadTime(id int) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^id<<3|6), &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
