package memfs

import "coderunner/internal/machine/abi"

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
