package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Connect connects a shell's /dev/tcp/HOST/PORT, as curl connects.
func (n Network) Connect(ctx context.Context, address string) (stream memfs.Stream, err error) {
	err = n.each(ctx, address, "", func(host string, to netip.AddrPort) error {
		if n.Loopback != nil {
			k, err := n.Loopback.Call(ctx, to)
			if !errors.Is(err, abi.ECONNREFUSED) {
				stream = k
				return err
			}
		}
		if n.Outside == nil {
			return abi.ECONNREFUSED
		}
		conn, err := n.connect(ctx, host, to)
		if err == nil {
			stream = &outer{conn}
		}
		return err
	})
	if errors.Is(err, abi.ECONNREFUSED) {
		err = abi.ECONNREFUSED
	}
	if err != nil {
		return nil, err
	}
	return stream, nil
}

// outer is a connection to the outside as a file.
type outer struct{ net.Conn }

// now is a deadline that has passed.
var now = time.Unix(1, 0)

func (o *outer) Read(ctx context.Context, p []byte, _ bool) (int, abi.Errno) {
	o.SetReadDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { o.SetReadDeadline(now) })()
	n, err := o.Conn.Read(p)
	switch {
	case n > 0 || errors.Is(err, io.EOF):
		return n, abi.OK
	case ctx.Err() != nil:
		return 0, abi.EINTR
	case err != nil:
		return 0, abi.ECONNRESET
	}
	return 0, abi.OK
}

func (o *outer) Write(ctx context.Context, p []byte, _ bool) (int, abi.Errno) {
	o.SetWriteDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { o.SetWriteDeadline(now) })()
	n, err := o.Conn.Write(p)
	switch {
	case n > 0 || err == nil:
		return n, abi.OK
	case ctx.Err() != nil:
		return 0, abi.EINTR
	}
	return 0, abi.EPIPE
}

func (o *outer) Close() abi.Errno {
	o.Conn.Close()
	return abi.OK
}
