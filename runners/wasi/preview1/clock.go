package preview1

import (
	"time"

	"coderunner/internal/machine/abi"
)

// Clocks.
const (
	clockRealtime = iota
	clockMonotonic
	clockProcess
	clockThread
)

// clock returns what a clock shows.
func (c call) clock(id uint32) (time.Duration, abi.Errno) {
	switch id {
	case clockRealtime:
		return time.Duration(time.Now().UnixNano()), abi.OK
	case clockMonotonic:
		return c.Clock(), abi.OK
	case clockProcess, clockThread:
		return c.Busy(), abi.OK
	}
	return 0, abi.EINVAL
}

// clockResGet is clock_res_get(id, *resolution).
func clockResGet(c call) abi.Errno {
	if _, errno := c.clock(c.u32(0)); errno != abi.OK {
		return errno
	}
	return fault(c.mem.PutUint64(c.u32(1), uint64(time.Microsecond)))
}

// clockTimeGet is clock_time_get(id, precision, *time).
func clockTimeGet(c call) abi.Errno {
	t, errno := c.clock(c.u32(0))
	if errno != abi.OK {
		return errno
	}
	return fault(c.mem.PutUint64(c.u32(2), uint64(t)))
}
