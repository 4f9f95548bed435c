package netstack

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"syscall"

	"coderunner/internal/machine/abi"
)

// linkCost is what a connection to the outside takes, in bytes: two buffers and
// two goroutines.
const (
	copyBuffer = 32 << 10
	linkCost   = 2*copyBuffer + 16<<10
)

// refused reports whether an Outside's error is its refusal: one that names the
// flag that would allow it, or any fs.ErrPermission.
func refused(err error) bool {
	var flag interface{ Flag() string }
	return errors.As(err, &flag) || errors.Is(err, fs.ErrPermission)
}

// errnoOf returns the errno of an Outside's error.
func errnoOf(err error) abi.Errno {
	if refused(err) {
		return abi.EACCES
	}
	for host, e := range map[error]abi.Errno{
		syscall.ECONNREFUSED: abi.ECONNREFUSED, syscall.ECONNRESET: abi.ECONNRESET,
		syscall.EPIPE: abi.EPIPE, syscall.EHOSTUNREACH: abi.EHOSTUNREACH, syscall.ENETUNREACH: abi.ENETUNREACH,
		syscall.EADDRINUSE: abi.EADDRINUSE, syscall.EADDRNOTAVAIL: abi.EADDRNOTAVAIL, syscall.EMSGSIZE: abi.EMSGSIZE,
	} {
		if errors.Is(err, host) {
			return e
		}
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return abi.ETIMEDOUT
	}
	return abi.ECONNABORTED
}

// dialOutside begins to connect to dest, which the program calls to.
func (k *Socket) dialOutside(dest netip.AddrPort, to Addr) abi.Errno {
	s := k.stack
	s.mu.Lock()
	defer s.mu.Unlock()
	outside := s.options.Outside
	if k.state != fresh || s.closed || outside == nil {
		return abi.EALREADY
	}
	if !s.options.Reserve(linkCost) {
		return abi.ENOBUFS
	}
	var ctx context.Context
	ctx, k.dial = context.WithCancel(s.ctx)
	k.state, k.remote = connecting, to
	s.pumps.Go(func() {
		defer s.options.Unreserve(linkCost)
		conn, err := outside.Dial(ctx, "tcp", "", dest)
		far := k.dialed(conn, err, dest)
		if far != nil {
			s.copy(far, conn)
		}
	})
	return abi.EINPROGRESS
}

// dialed ends an attempt to connect and returns the other end of the connection.
func (k *Socket) dialed(conn net.Conn, err error, dest netip.AddrPort) *Socket {
	s := k.stack
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		e := errnoOf(err)
		if e == abi.EACCES {
			k.refusal = err.Error()
			if inside(dest.Addr()) {
				e = abi.ECONNREFUSED // nobody listens, inside
			}
		}
		k.failLocked(e)
		return nil
	}
	if k.state != connecting {
		conn.Close()
		return nil
	}
	if at, ok := addrOf(conn.LocalAddr()); ok {
		k.unbindLocked()
		k.placeLocked(netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
	}
	return k.joinLocked()
}

// joinLocked makes k connected to a socket of ours and returns that.
func (k *Socket) joinLocked() *Socket {
	far := &Socket{stack: k.stack, Domain: k.Domain, Type: k.Type, Protocol: k.Protocol, state: connected, peer: k}
	k.state, k.peer = connected, far
	k.Wake()
	return far
}

// addrOf is an address of package net.
func addrOf(a net.Addr) (netip.AddrPort, bool) {
	at, err := netip.ParseAddrPort(a.String())
	return netip.AddrPortFrom(at.Addr().WithZone(""), at.Port()), err == nil
}

// copy copies between a socket of ours, whose peer is the guest's, and a
// connection until both directions have ended.
func (s *Stack) copy(far *Socket, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(s.ctx, func() { conn.Close() })
	defer stop()
	s.pumps.Go(func() { s.copyIn(far, conn) })
	buf := make([]byte, copyBuffer)
	for {
		n, e := far.Read(s.ctx, buf, false)
		if e != abi.OK {
			break
		}
		if n == 0 {
			if c, ok := conn.(interface{ CloseWrite() error }); ok {
				c.CloseWrite()
			}
			far.Wait(s.ctx, abi.POLLHUP, 0)
			break
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			far.fail(errnoOf(err))
			break
		}
	}
	s.mu.Lock()
	far.state = closed
	far.in.drop(s)
	if far.peer != nil {
		far.peer.hangUpLocked(!far.noWrite)
	}
	s.mu.Unlock()
}

// copyIn copies what comes from the outside.
func (s *Stack) copyIn(far *Socket, conn net.Conn) {
	buf := make([]byte, copyBuffer)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			if _, e := far.Write(s.ctx, buf[:n], false); e != abi.OK {
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			far.Shutdown(abi.SHUT_WR)
			return
		case err != nil:
			far.fail(errnoOf(err))
			return
		}
	}
}

// fail gives the guest's socket an error.
func (k *Socket) fail(e abi.Errno) {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	if k.state == connected && k.peer != nil {
		p := k.peer
		k.peer, k.ended = nil, true
		p.hangUpLocked(false)
		p.err = e
		p.Wake()
	}
	k.Wake()
}
