package preview1

import (
	"context"
	"math"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// The sizes of a subscription and of an event:
//
//	 0          8     16         24        32          40
//	| userdata | tag | clock id | timeout | precision | flags |  subscription, to a clock
//	| userdata | tag | fd                                     |  to a descriptor
//	| userdata | errno | type | bytes     | flags |              event
//	 0          8       10     16          24
const subscriptionSize, eventSize = 48, 32

// Tags of subscriptions.
const (
	tagClock = iota
	tagRead
	tagWrite
)

const maxSubscriptions = 4096

// subscription is what a module waits for.
type subscription struct {
	userdata uint64
	tag      uint8
	errno    abi.Errno   // why it cannot wait for it
	file     *memfs.File // nil: a clock
	after    time.Duration
}

// pollOneoff is poll_oneoff(*in, *out, n, *events). A module sleeps by it.
func pollOneoff(c call) abi.Errno {
	n := c.u32(2)
	if n == 0 || n > maxSubscriptions {
		return abi.EINVAL
	}
	in, out := c.to(0, n*subscriptionSize), c.to(1, n*eventSize)
	c.to(3, 4)
	list := make([]subscription, 0, n)
	for ; len(in) > 0; in = in[subscriptionSize:] {
		list = append(list, c.subscription(in))
	}
	begun := time.Now()
	_, _ = c.waiting(func(ctx context.Context) (int, abi.Errno) {
		var files []memfs.Polled
		first := time.Duration(math.MaxInt64)
		for _, s := range list {
			if s.file != nil {
				files = append(files, memfs.Polled{File: s.file, Events: s.events()})
			} else {
				first = min(first, s.after) // 0 if it cannot be waited for
			}
		}
		timer := time.NewTimer(first)
		defer timer.Stop()
		_, errno := memfs.Poll(ctx, files, timer.C)
		return 0, errno
	})
	passed := time.Since(begun)
	count := 0
	for _, s := range list {
		if s.ready(passed) {
			s.put(out[count*eventSize:])
			count++
		}
	}
	return c.put32(3, count)
}

func (c call) subscription(b []byte) subscription {
	s := subscription{userdata: le.Uint64(b), tag: b[8]}
	switch s.tag {
	case tagClock:
		const absolute = 1
		now := c.clock(le.Uint32(b[16:]))
		timeout := le.Uint64(b[24:])
		if s.after = time.Duration(min(timeout, math.MaxInt64)); le.Uint16(b[40:])&absolute != 0 {
			s.after -= now
		}
	case tagRead, tagWrite:
		if d := c.at(le.Uint32(b[16:])); d != nil {
			s.file = d.file
		} else {
			s.errno = abi.EBADF
		}
	default:
		panic(abi.EINVAL)
	}
	return s
}

// events are what makes the subscription ready.
func (s *subscription) events() abi.Events {
	if s.tag == tagWrite {
		return abi.POLLOUT | abi.POLLERR | abi.POLLHUP
	}
	return abi.POLLIN | abi.POLLERR | abi.POLLHUP
}

// ready reports whether what is waited for has happened, after some time.
func (s *subscription) ready(passed time.Duration) bool {
	switch {
	case s.errno != abi.OK:
		return true
	case s.file != nil:
		return s.file.Ready()&s.events() != 0
	}
	return s.after <= passed
}

// put writes the event.
func (s *subscription) put(b []byte) {
	clear(b[:eventSize])
	le.PutUint64(b, s.userdata)
	le.PutUint16(b[8:], uint16(s.errno))
	b[10] = s.tag
	if s.file == nil {
		return
	}
	le.PutUint64(b[16:], 1) // at least
	if n := s.file.Node(); s.tag == tagRead && n != nil && n.Type() == abi.S_IFREG {
		if at, errno := s.file.SeekTo(0, abi.SEEK_CUR); errno == abi.OK {
			le.PutUint64(b[16:], uint64(max(0, s.file.Stat().Size-at)))
		}
	}
	const hangup = 1
	if s.file.Ready()&abi.POLLHUP != 0 {
		le.PutUint16(b[24:], hangup)
	}
}
