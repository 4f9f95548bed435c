package netstack

import (
	"context"
	"slices"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// state is how far a socket is.
type state uint8

const (
	fresh      state = iota // neither connected nor listening
	connecting              // for streams
	connected               // has a peer, or had one
	listening
	closed
)

// Socket is a socket. It is a memfs.Stream and a memfs.Poller.
type Socket struct {
	memfs.Waiters // woken by every change

	stack                  *Stack
	Domain, Type, Protocol uint32

	// Stack.mu guards what follows.
	state         state
	local, remote Addr
	bound         bool // is in Stack.ports or Stack.names
	peer          *Socket
	err           abi.Errno // what SO_ERROR reports, once
	refusal       string    // why the Outside refused
	opts          options

	in      inbox
	ended   bool // the peer sends no more
	reset   bool // by the peer: the connection is no more
	noRead  bool // shutdown(2)
	noWrite bool
	told    bool // something was sent since the peer was closed

	listener listener
	blocked  []*Socket          // datagram senders that found in full
	dial     context.CancelFunc // ends an attempt to connect to the outside
	udp      datagrams
}

// options are those of setsockopt that mean something.
type options struct {
	reuseAddr, reusePort, broadcast, v6only bool
	lingerOn                                bool
	linger                                  uint32
	receive, send                           time.Duration // SO_RCVTIMEO, SO_SNDTIMEO; 0: none
	limit                                   int           // of in, in bytes; 0: the default
	rest                                    map[[2]uint32][]byte
}

// Close implements memfs.Stream.
func (k *Socket) Close() abi.Errno {
	k.stack.mu.Lock()
	files := k.closeLocked()
	k.stack.mu.Unlock()
	closeAll(files)
	return abi.OK
}

func closeAll(files []*memfs.File) {
	for _, f := range files {
		f.Close()
	}
}

// closeLocked closes k and returns the files that were sent to it and never
// received.
func (k *Socket) closeLocked() (files []*memfs.File) {
	if k.state == closed {
		return nil
	}
	s := k.stack
	k.unbindLocked()
	reset := !k.in.empty() || k.opts.lingerOn && k.opts.linger == 0
	if p := k.peer; p != nil && k.Type != abi.SOCK_DGRAM && k.state == connected {
		p.hangUpLocked(reset)
	}
	files = k.listener.closeLocked()
	for _, b := range k.blocked {
		b.Wake()
	}
	k.blocked = nil
	if k.dial != nil {
		k.dial()
	}
	k.udp.closeLocked()
	files = append(files, k.in.drop(s)...)
	k.state, k.peer = closed, nil
	delete(s.sockets, k)
	s.options.Unreserve(socketCost + int64(len(k.opts.rest))*optionCost)
	k.Wake()
	return files
}

// hangUpLocked tells k that its peer was closed.
func (k *Socket) hangUpLocked(reset bool) {
	k.peer, k.ended, k.reset = nil, true, reset
	if reset && k.err == abi.OK {
		k.err = abi.ECONNRESET
	}
	k.Wake()
}

// failLocked ends an attempt to connect.
func (k *Socket) failLocked(e abi.Errno) {
	if k.state == connecting {
		k.state, k.err, k.remote = fresh, e, k.none()
		k.Wake()
	}
}

// takeErrorLocked returns the pending error and forgets it.
func (k *Socket) takeErrorLocked() abi.Errno {
	e := k.err
	k.err = abi.OK
	return e
}

// Shutdown is shutdown(2).
func (k *Socket) Shutdown(how uint32) abi.Errno {
	var files []*memfs.File
	defer func() { closeAll(files) }()
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	switch {
	case how > abi.SHUT_RDWR:
		return abi.EINVAL
	case k.state == listening: // which wakes those that accept
		files = k.listener.closeLocked()
		k.state = fresh
		k.Wake()
		return abi.OK
	case k.state != connected || k.peer == nil && !k.ended && k.Type != abi.SOCK_DGRAM:
		return abi.ENOTCONN
	}
	if how != abi.SHUT_WR {
		k.noRead = true
	}
	if how != abi.SHUT_RD {
		k.noWrite = true
		if k.peer != nil && k.Type != abi.SOCK_DGRAM {
			k.peer.ended = true
			k.peer.Wake()
		}
	}
	k.Wake()
	return abi.OK
}

const (
	readable = abi.POLLIN | abi.POLLRDNORM
	writable = abi.POLLOUT | abi.POLLWRNORM
)

// Ready implements memfs.Poller, as Linux's tcp_poll, udp_poll and unix_poll do.
func (k *Socket) Ready() (ev abi.Events) {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	if k.err != abi.OK {
		ev |= abi.POLLERR
	}
	if !k.in.empty() {
		ev |= readable
	}
	if k.Type == abi.SOCK_DGRAM {
		if k.peer == nil || k.Domain != abi.AF_UNIX || !k.peer.fullLocked() {
			ev |= writable
		}
		if k.noRead {
			ev |= readable | abi.POLLRDHUP
		}
		return ev
	}
	switch k.state {
	case listening:
		ev &^= readable
		if len(k.listener.accepts) > 0 {
			ev |= readable
		}
	case connecting:
	case fresh:
		ev |= abi.POLLHUP | writable
		if k.err != abi.OK {
			ev |= readable
		}
	case connected:
		if k.ended || k.noRead {
			ev |= readable | abi.POLLRDHUP
		}
		if k.ended && (k.noWrite || k.peer == nil) || k.noRead && k.noWrite {
			ev |= abi.POLLHUP
		}
		if k.noWrite || k.peer == nil || !k.peer.fullLocked() {
			ev |= writable
		}
	case closed:
		ev |= abi.POLLHUP | readable | writable
	}
	return ev
}

// Wait waits until one of the events is there, an error or a hang-up among
// them, and returns EAGAIN when the time is over; 0 is no limit.
func (k *Socket) Wait(ctx context.Context, events abi.Events, limit time.Duration) abi.Errno {
	timed := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	e := memfs.Await(timed, k, func() bool { return ready(k, events) })
	if e == abi.EINTR && ctx.Err() == nil {
		e = abi.EAGAIN
	}
	return e
}

// ready reports whether one of the events is there, an error or a hang-up among them.
func ready(k *Socket, events abi.Events) bool {
	return k.Ready()&(events|abi.POLLERR|abi.POLLHUP) != 0
}

// ReceiveLimit and SendLimit are SO_RCVTIMEO and SO_SNDTIMEO; 0: none.
func (k *Socket) ReceiveLimit() time.Duration { return k.limit(&k.opts.receive) }
func (k *Socket) SendLimit() time.Duration    { return k.limit(&k.opts.send) }

func (k *Socket) limit(d *time.Duration) time.Duration {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	return *d
}

// Read implements memfs.Stream.
func (k *Socket) Read(ctx context.Context, p []byte, nonblock bool) (int, abi.Errno) {
	if len(p) == 0 {
		return 0, abi.OK // there is nothing to wait for
	}
	for {
		m, e := k.Receive([][]byte{p}, 0)
		for _, f := range m.Files {
			f.Close() // as read(2) does
		}
		if e != abi.EAGAIN || nonblock {
			return m.N, e
		}
		if e := k.Wait(ctx, readable, k.ReceiveLimit()); e != abi.OK {
			return 0, e
		}
	}
}

// Write implements memfs.Stream.
func (k *Socket) Write(ctx context.Context, p []byte, nonblock bool) (done int, e abi.Errno) {
	for {
		n, e := k.Send(ctx, Message{Data: [][]byte{p[done:]}})
		done += n
		switch {
		case e == abi.OK && done == len(p):
			return done, abi.OK
		case done > 0 && (nonblock || e != abi.OK && e != abi.EAGAIN):
			return done, abi.OK
		case e != abi.OK && (e != abi.EAGAIN || nonblock):
			return 0, e
		}
		if e := k.Wait(ctx, writable, k.SendLimit()); e != abi.OK {
			if done > 0 {
				e = abi.OK
			}
			return done, e
		}
	}
}

// Refusal returns why the Outside refused what was last asked of it.
func (k *Socket) Refusal() string {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	return k.refusal
}

// remove removes a socket from a list.
func remove(list []*Socket, k *Socket) []*Socket {
	return slices.DeleteFunc(list, func(x *Socket) bool { return x == k })
}
