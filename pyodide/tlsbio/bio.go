package tlsbio

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
)

// bio is the net.Conn below a tls.Conn: two buffers. It gives a reader one record
// at a time, so that nothing behind a close_notify is taken for TLS.
type bio struct {
	in, out []byte
	record  int  // what is left of the record that is being read
	end     bool // nothing will be added to in
	ended   bool // a reader was told so
	closed  bool
	replace byte // the description of the next alert that is sent in plain text; 0: its own
	hs      *handshake
}

// wantRead is the error of a read that lacks input. crypto/tls goes on after
// temporary errors, but for those of a handshake.
type wantRead struct{}

func (wantRead) Error() string   { return "more input is needed" }
func (wantRead) Timeout() bool   { return false }
func (wantRead) Temporary() bool { return true }

var (
	errWantRead net.Error = wantRead{}
	errClosed             = errors.New("the connection is closed")
)

const recordHeader = 5 // type, version, length

func (b *bio) feed(data []byte, end bool) {
	b.in = append(b.in, data...)
	b.end = b.end || end
}

func (b *bio) takeOut() []byte {
	out := b.out
	b.out = nil
	return out
}

func (b *bio) takeIn() []byte {
	in := b.in
	b.in, b.record = nil, 0
	return in
}

// Read implements net.Conn.
func (b *bio) Read(p []byte) (int, error) {
	for {
		n := b.ready()
		switch {
		case b.closed:
			return 0, errClosed
		case n > 0:
			n = copy(p[:min(n, len(p))], b.in)
			if b.in = b.in[n:]; len(b.in) == 0 {
				b.in = nil
			}
			b.record -= n
			return n, nil
		case b.end:
			b.ended = true
			return 0, io.EOF
		case b.hs.done:
			return 0, errWantRead
		}
		b.hs.stop(WantRead)
	}
}

// ready returns how much of in can be read: no more than one record. What ends
// within a header is given out, so that crypto/tls tells that it was cut off.
func (b *bio) ready() int {
	if b.record == 0 && len(b.in) >= recordHeader {
		b.record = recordHeader + int(binary.BigEndian.Uint16(b.in[3:]))
	}
	if b.record == 0 {
		if b.end {
			b.record = len(b.in)
		}
		return b.record
	}
	return min(b.record, len(b.in))
}

const (
	typeAlert  = 21
	alertFatal = 2
)

// Write implements net.Conn.
func (b *bio) Write(p []byte) (int, error) {
	b.out = append(b.out, p...)
	if b.replace != 0 && len(p) == recordHeader+2 && p[0] == typeAlert && p[recordHeader] == alertFatal {
		b.out[len(b.out)-1] = b.replace
	}
	return len(p), nil
}

// The rest of net.Conn. There are no addresses and no deadlines, for nothing waits.

func (b *bio) Close() error                     { return nil }
func (b *bio) LocalAddr() net.Addr              { return addr{} }
func (b *bio) RemoteAddr() net.Addr             { return addr{} }
func (b *bio) SetDeadline(time.Time) error      { return nil }
func (b *bio) SetReadDeadline(time.Time) error  { return nil }
func (b *bio) SetWriteDeadline(time.Time) error { return nil }

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "memory" }
