package abi

// Events is the set of poll(2) events, as in struct pollfd's two shorts.
type Events uint16

// The events of poll(2).
const (
	POLLIN     Events = 0x001
	POLLOUT    Events = 0x004
	POLLERR    Events = 0x008
	POLLHUP    Events = 0x010
	POLLNVAL   Events = 0x020
	POLLRDNORM Events = 0x040
	POLLWRNORM Events = 0x100
	POLLRDHUP  Events = 0x2000
)
