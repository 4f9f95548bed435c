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

// PollfdSize is the size of struct pollfd:
//
//	0        4        6        8
//	| fd i32 | events | revents|
const PollfdSize = 8

// Pollfd is one entry of poll(2).
type Pollfd struct {
	FD      int32
	Events  Events
	Revents Events
}

// DecodePollfd reads the first PollfdSize bytes of b.
func DecodePollfd(b []byte) Pollfd {
	_ = b[PollfdSize-1]
	return Pollfd{int32(le.Uint32(b)), Events(le.Uint16(b[4:])), Events(le.Uint16(b[6:]))}
}

// PutRevents writes only the revents of the struct pollfd in b.
func PutRevents(b []byte, e Events) {
	_ = b[PollfdSize-1]
	le.PutUint16(b[6:], uint16(e))
}
