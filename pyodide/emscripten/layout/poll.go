package layout

import "coderunner/internal/machine/abi"

// PollfdSize is the size of struct pollfd:
//
//	0        4        6        8
//	| fd i32 | events | revents|
const PollfdSize = 8

// Pollfd is one entry of poll(2).
type Pollfd struct {
	FD      int32
	Events  abi.Events
	Revents abi.Events
}

// DecodePollfd reads the first PollfdSize bytes of b.
func DecodePollfd(b []byte) Pollfd {
	_ = b[PollfdSize-1]
	return Pollfd{int32(le.Uint32(b)), abi.Events(le.Uint16(b[4:])), abi.Events(le.Uint16(b[6:]))}
}

// PutRevents writes only the revents of the struct pollfd in b.
func PutRevents(b []byte, e abi.Events) {
	_ = b[PollfdSize-1]
	le.PutUint16(b[6:], uint16(e))
}
