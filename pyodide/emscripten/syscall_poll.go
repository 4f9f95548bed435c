package emscripten

import (
	"context"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/emscripten/layout"
)

// doPoll is poll(*pollfd, n, milliseconds). Without descriptors it is how the
// guest sleeps.
//
// It also sets errno: the guest's select calls the system call directly and
// passes a failure on without doing so, and CPython has to see EINTR.
func doPoll(c call) (int32, abi.Errno) {
	n, errno := c.poll()
	if errno != abi.OK {
		c.p.Guest.SetErrno(c.ctx, int32(errno))
	}
	return n, errno
}

func (c call) poll() (int32, abi.Errno) {
	n := c.u32(1)
	if n > uint32(c.p.fds.max) {
		return 0, abi.EINVAL
	}
	fds, ok := c.mem.Bytes(c.u32(0), n*layout.PollfdSize)
	if !ok {
		return 0, abi.EFAULT
	}
	if ready := c.p.fds.ready(fds); ready > 0 || c.i32(2) == 0 {
		return ready, abi.OK
	}
	var end <-chan time.Time // nil: never
	if c.i32(2) > 0 {
		end = time.After(time.Duration(c.i32(2)) * time.Millisecond)
	}
	for {
		polled := c.p.fds.polled(fds)
		over := false
		_, errno := c.waiting(func(ctx context.Context) (_ int, errno abi.Errno) {
			over, errno = memfs.Poll(ctx, polled, end)
			return 0, errno
		})
		// Another thread may have read meanwhile what was there.
		if ready := c.p.fds.ready(fds); errno != abi.OK || ready > 0 || over {
			return ready, errno
		}
	}
}

// ready fills in the revents and counts the descriptors that have some.
func (d *descriptors) ready(fds []byte) (count int32) {
	for ; len(fds) > 0; fds = fds[layout.PollfdSize:] {
		e := layout.DecodePollfd(fds)
		var r abi.Events
		if e.FD >= 0 { // negative: to be ignored
			if f, errno := d.get(e.FD); errno == abi.OK && f.Flags()&abi.O_PATH == 0 {
				r = f.Ready() & (e.Events | abi.POLLERR | abi.POLLHUP)
			} else {
				r = abi.POLLNVAL
			}
		}
		layout.PutRevents(fds, r)
		if r != 0 {
			count++
		}
	}
	return count
}

// polled returns the descriptors that poll waits for.
func (d *descriptors) polled(fds []byte) (list []memfs.Polled) {
	for ; len(fds) > 0; fds = fds[layout.PollfdSize:] {
		e := layout.DecodePollfd(fds)
		if f, errno := d.get(e.FD); errno == abi.OK {
			list = append(list, memfs.Polled{File: f, Events: e.Events | abi.POLLERR | abi.POLLHUP})
		}
	}
	return list
}
