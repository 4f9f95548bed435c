package memfs

import (
	"context"
	"slices"
	"sync"

	"coderunner/internal/machine/abi"
)

// Stream is what a device or socket does once it is open. The owner of the FS
// implements it; calls may come from several goroutines and no lock is held
// during one. File checks the access mode before it calls.
//
// A Stream may also implement Poller and Seeker.
type Stream interface {
	// Read reads into p; 0 and OK is end of file. With nonblock it returns
	// EAGAIN instead of waiting. It returns EINTR when ctx ends.
	Read(ctx context.Context, p []byte, nonblock bool) (int, abi.Errno)
	// Write writes p or a first part of it, in the same manner.
	Write(ctx context.Context, p []byte, nonblock bool) (int, abi.Errno)
	// Close is called once, by the last File.Close.
	Close() abi.Errno
}

// Poller is a Stream that is not always ready. See File.Ready and File.Watch;
// Waiters implements Watch.
type Poller interface {
	Ready() abi.Events
	Watch(ch chan<- struct{}) (stop func())
}

// Seeker is a Stream with a position of its own. Without it SeekTo is ESPIPE.
type Seeker interface {
	SeekTo(off int64, whence int) (int64, abi.Errno)
}

// Waiters is a set of channels to wake, for implementing Poller. The zero value
// is ready to use, and it is safe for concurrent use.
type Waiters struct {
	mu  sync.Mutex
	all []*waiter
}

type waiter struct{ ch chan<- struct{} }

// Watch adds ch; stop removes it and may be called once.
func (w *Waiters) Watch(ch chan<- struct{}) (stop func()) {
	me := &waiter{ch}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, me)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = slices.DeleteFunc(w.all, func(x *waiter) bool { return x == me })
	}
}

// Wake sends to every channel that is ready to receive.
func (w *Waiters) Wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.all {
		select {
		case x.ch <- struct{}{}:
		default:
		}
	}
}

// Await calls try until it reports done: at once, and after each wake-up of what of
// watches. It returns EINTR when ctx ends first.
func Await(ctx context.Context, of interface {
	Watch(chan<- struct{}) (stop func())
}, try func() (done bool)) abi.Errno {
	if try() {
		return abi.OK
	}
	ch := make(chan struct{}, 1)
	defer of.Watch(ch)()
	for !try() {
		select {
		case <-ch:
		case <-ctx.Done():
			return abi.EINTR
		}
	}
	return abi.OK
}

// always is what poll reports for files that never block.
const always = abi.POLLIN | abi.POLLRDNORM | abi.POLLOUT | abi.POLLWRNORM
