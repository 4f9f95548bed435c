package memfs

import (
	"context"
	"slices"
	"time"

	"coderunner/internal/machine/abi"
)

// Ready is what poll(2) would report now: POLLIN, POLLOUT (with their RDNORM
// and WRNORM forms), POLLHUP, POLLERR.
func (f *File) Ready() abi.Events {
	if p, ok := f.stream.(Poller); ok {
		return p.Ready()
	}
	return always
}

// Watch registers ch, which should have a buffer of one, to be sent to without
// blocking whenever Ready may have changed. Ask Ready after registering. stop
// ends it and may be called once. For files that are always ready nothing is
// ever sent.
func (f *File) Watch(ch chan<- struct{}) (stop func()) {
	if p, ok := f.stream.(Poller); ok {
		return p.Watch(ch)
	}
	return func() {}
}

// Polled is a file, and the events for which it is waited.
type Polled struct {
	File   *File
	Events abi.Events
}

// Poll waits until one of the files has one of its events, and reports over if the time has
// passed before. The error is EINTR if ctx ends.
func Poll(ctx context.Context, list []Polled, timeout <-chan time.Time) (over bool, errno abi.Errno) {
	changed := make(chan struct{}, 1)
	for _, p := range list {
		defer p.File.Watch(changed)()
	}
	for !slices.ContainsFunc(list, func(p Polled) bool { return p.File.Ready()&p.Events != 0 }) {
		select {
		case <-changed:
		case <-timeout:
			return true, abi.OK
		case <-ctx.Done():
			return false, abi.EINTR
		}
	}
	return false, abi.OK
}
