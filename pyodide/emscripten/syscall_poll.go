package emscripten

import (
	"context"
	"time"

	"coderunner/pyodide/abi"
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
	fds, ok := c.mem.Bytes(c.u32(0), n*abi.PollfdSize)
	if !ok {
		return 0, abi.EFAULT
	}
	if ready := c.p.fds.ready(fds); ready > 0 || c.i32(2) == 0 {
		return ready, abi.OK
	}
	ready, errno := c.waiting(func(ctx context.Context) (int, abi.Errno) {
		return c.p.fds.poll(ctx, fds, c.i32(2))
	})
	return int32(ready), errno
}

// ready fills in the revents and counts the descriptors that have some.
func (d *descriptors) ready(fds []byte) (count int32) {
	for ; len(fds) > 0; fds = fds[abi.PollfdSize:] {
		e := abi.DecodePollfd(fds)
		var r abi.Events
		if e.FD >= 0 { // negative: to be ignored
			if f, errno := d.get(e.FD); errno == abi.OK && f.Flags()&abi.O_PATH == 0 {
				r = f.Ready() & (e.Events | abi.POLLERR | abi.POLLHUP)
			} else {
				r = abi.POLLNVAL
			}
		}
		abi.PutRevents(fds, r)
		if r != 0 {
			count++
		}
	}
	return count
}

// poll waits until a descriptor is ready or the time is over; negative
// milliseconds are for ever.
func (d *descriptors) poll(ctx context.Context, fds []byte, milliseconds int32) (int, abi.Errno) {
	changed := make(chan struct{}, 1)
	for b := fds; len(b) > 0; b = b[abi.PollfdSize:] {
		if f, errno := d.get(abi.DecodePollfd(b).FD); errno == abi.OK {
			defer f.Watch(changed)()
		}
	}
	var timeout <-chan time.Time
	if milliseconds >= 0 {
		t := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
		defer t.Stop()
		timeout = t.C
	}
	for {
		if n := d.ready(fds); n > 0 {
			return int(n), abi.OK
		}
		select {
		case <-changed:
		case <-timeout:
			return int(d.ready(fds)), abi.OK
		case <-ctx.Done():
			return 0, abi.EINTR
		}
	}
}
