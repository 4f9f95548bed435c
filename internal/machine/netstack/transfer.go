package netstack

import (
	"context"
	"net/netip"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Message is what one call sends.
type Message struct {
	Data  [][]byte
	To    *Addr         // nil: the peer
	Files []*memfs.File // of AF_UNIX; taken over unless there is an error
}

// Received is what one call receives.
type Received struct {
	N     int  // bytes
	Size  int  // of the message, which may be more
	From  Addr // of a message
	Files []*memfs.File
}

func (m Message) size() int { return size(m.Data) }

// size returns how many bytes buffers have.
func size(data [][]byte) (n int) {
	for _, b := range data {
		n += len(b)
	}
	return n
}

// Send sends a message, or of a stream a first part of it.
func (k *Socket) Send(ctx context.Context, m Message) (int, abi.Errno) {
	if len(m.Files) > 0 && (k.Domain != abi.AF_UNIX || len(m.Files) > maxFilesAlong) {
		return 0, abi.EINVAL
	}
	if k.Type == abi.SOCK_DGRAM {
		if k.Domain == abi.AF_UNIX {
			return k.sendUnixDatagram(m)
		}
		return k.sendDatagram(ctx, m)
	}
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	switch {
	case k.err != abi.OK:
		return 0, k.takeErrorLocked()
	case k.state == connecting:
		return 0, abi.EAGAIN
	case m.To != nil && k.Domain == abi.AF_UNIX && k.state == connected:
		return 0, abi.EISCONN
	case k.state != connected && k.Domain == abi.AF_UNIX:
		return 0, abi.ENOTCONN
	case k.state == connected && k.peer == nil && !k.noWrite && !k.told && k.Domain != abi.AF_UNIX:
		k.told = m.size() > 0 // TCP learns by what it sends that nobody is there
		return m.size(), abi.OK
	case k.state != connected || k.noWrite || k.peer == nil || k.peer.noRead && k.Domain == abi.AF_UNIX:
		return 0, abi.EPIPE
	}
	n, e := 0, abi.OK
	if k.Type == abi.SOCK_SEQPACKET {
		n, e = k.peer.addLocked(m.Data, Addr{}, m.Files)
	} else if m.size() > 0 {
		n, e = k.peer.putLocked(m.Data, m.Files)
	}
	if n > 0 || e == abi.OK {
		k.peer.Wake()
	}
	return n, e
}

// Receive receives a message, or of a stream what is there. flags may hold
// MSG_PEEK.
func (k *Socket) Receive(bufs [][]byte, flags uint32) (r Received, e abi.Errno) {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	peek := flags&abi.MSG_PEEK != 0
	switch {
	case k.Type != abi.SOCK_STREAM && len(k.in.list) > 0:
		return k.receiveMessageLocked(bufs, peek), abi.OK
	case k.in.n > 0:
		r.N = k.in.copyOut(bufs)
		if !peek {
			r.Files = k.in.take(k.stack, r.N)
			if k.peer != nil {
				k.peer.Wake()
			}
		}
		return r, abi.OK
	case k.err != abi.OK:
		return r, k.takeErrorLocked()
	case k.ended || k.noRead:
		return r, abi.OK
	case k.Type != abi.SOCK_DGRAM && (k.state == fresh || k.state == listening):
		return r, abi.ENOTCONN
	case k.state == closed:
		return r, abi.EBADF
	}
	return r, abi.EAGAIN
}

func (k *Socket) receiveMessageLocked(bufs [][]byte, peek bool) (r Received) {
	first := k.in.list[0]
	rest := first.data
	for _, b := range bufs {
		n := copy(b, rest)
		rest = rest[n:]
		r.N += n
	}
	r.Size, r.From = len(first.data), first.from
	if peek {
		return r
	}
	r.Files = first.files
	k.in.next(k.stack)
	if k.peer != nil {
		k.peer.Wake()
	}
	for _, b := range k.blocked {
		b.Wake()
	}
	k.blocked = nil
	return r
}

// Available is how many bytes can be read at once, as FIONREAD answers.
func (k *Socket) Available() int {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	if len(k.in.list) > 0 {
		return len(k.in.list[0].data)
	}
	return k.in.n
}

// sendUnixDatagram waits for its receiver, unlike UDP.
func (k *Socket) sendUnixDatagram(m Message) (int, abi.Errno) {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	to := k.peer
	if m.To != nil {
		if to = k.stack.names[m.To.name()]; to == nil {
			return 0, abi.ECONNREFUSED
		}
	}
	switch {
	case k.err != abi.OK:
		return 0, k.takeErrorLocked()
	case k.noWrite:
		return 0, abi.EPIPE
	case to == nil && k.state == connected:
		return 0, abi.ECONNREFUSED
	case to == nil:
		return 0, abi.ENOTCONN
	case to.Type != abi.SOCK_DGRAM:
		return 0, abi.EPROTOTYPE
	case to.state == closed:
		return 0, abi.ECONNREFUSED
	case to.noRead:
		return 0, abi.EPIPE
	}
	n, e := to.addLocked(m.Data, k.local, m.Files)
	if e == abi.EAGAIN {
		to.blocked = append(remove(to.blocked, k), k)
	}
	if e == abi.OK {
		to.Wake()
	}
	return n, e
}

// maxDatagram is the largest payload of UDP over IPv4.
const maxDatagram = 65507

func (k *Socket) sendDatagram(ctx context.Context, m Message) (int, abi.Errno) {
	s := k.stack
	s.mu.Lock()
	n, dest, e := k.sendInsideLocked(m)
	s.mu.Unlock()
	if e != abi.OK || !dest.IsValid() {
		return n, e
	}
	return k.udp.send(ctx, dest, m)
}

// sendInsideLocked sends a datagram on the loopback, or returns the destination
// in the outside.
func (k *Socket) sendInsideLocked(m Message) (n int, outside netip.AddrPort, e abi.Errno) {
	s := k.stack
	to := k.remote
	if m.To != nil {
		to = *m.To
		if to.Family != k.Domain {
			return 0, outside, abi.EAFNOSUPPORT
		}
	}
	switch {
	case k.err != abi.OK:
		return 0, outside, k.takeErrorLocked()
	case k.noWrite:
		return 0, outside, abi.EPIPE
	case m.To == nil && k.state != connected:
		return 0, outside, abi.EDESTADDRREQ
	case to.IP.Port() == 0:
		return 0, outside, abi.EINVAL
	case m.size() > maxDatagram:
		return 0, outside, abi.EMSGSIZE
	}
	if e := k.autobindLocked(); e != abi.OK {
		return 0, outside, e
	}
	ip := loopbackOf(to.ip())
	if !inside(ip) {
		if k.refusesLocked(ip) {
			return 0, outside, abi.EACCES
		}
		return 0, netip.AddrPortFrom(ip, to.IP.Port()), abi.OK
	}
	target := s.boundLocked(abi.SOCK_DGRAM, ip, to.IP.Port(), func(b *Socket) bool {
		return b.state != connected || b.remote.IP.Port() == k.local.IP.Port() && b.remote.ip() == k.sourceLocked(ip)
	})
	switch {
	case target != nil:
		// Like UDP, what finds no room is lost.
		if _, e := target.addLocked(m.Data, target.show(k.sourceLocked(ip), k.local.IP.Port()), nil); e == abi.OK {
			target.Wake()
		}
	case s.options.Outside != nil:
		return 0, netip.AddrPortFrom(ip, to.IP.Port()), abi.OK
	case k.state == connected:
		k.err = abi.ECONNREFUSED
		k.Wake()
	}
	return m.size(), outside, abi.OK
}
