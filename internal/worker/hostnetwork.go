package worker

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"coderunner/internal/machine/netstack"
	"coderunner/internal/netpolicy"
	"coderunner/internal/worker/wire"
)

// intercepted is what a program knows of the interceptor of its connections, which is the
// server's.
type intercepted struct {
	netpolicy.Interceptor // of which programs use nothing else
	root                  []byte
	variables             map[string]string
}

// network returns the network of programs besides the policy.
func (s *settings) network() (o netpolicy.Options) {
	if s.Intercepted {
		o.Intercept = &intercepted{root: s.Root}
	}
	return o
}

func (i *intercepted) Begin(was map[string]string) netpolicy.Interceptor {
	return &intercepted{root: i.root, variables: was}
}
func (i *intercepted) Root() []byte                   { return i.root }
func (i *intercepted) Environment() map[string]string { return i.variables }

// network is what a run may reach, by the server.
type network struct {
	conn *wire.Conn
	asks bool // the user can be asked
}

func (n *network) Lookup(ctx context.Context, host string) (list []netip.Addr, err error) {
	_, err = n.conn.Call(ctx, callLookup, host, &list)
	return list, err
}

// Avoided implements [process.Network].
func (n *network) Avoided(to string) (why string) {
	_, _ = n.conn.Call(context.Background(), callAvoided, to, &why)
	return why
}

// Contacts implements [process.Network]: the server knows them.
func (n *network) Contacts() ([]netpolicy.Contact, int) { return nil, 0 }

// Admit implements [netstack.Admitter].
func (n *network) Admit(ctx context.Context, addr netip.AddrPort) {
	if n.asks {
		_, _ = n.conn.Call(ctx, callAdmit, addr, nil)
	}
}

// waits is the Ask of a run's request in a worker. The server asks the user, and has it
// called so that the run's clock is held: see childRun.ask.
func waits(ctx context.Context, _ string, _ uint16) (bool, error) {
	<-ctx.Done()
	return false, nil
}

func (n *network) MayListen(addr netip.AddrPort) (may bool) {
	_, _ = n.conn.Call(context.Background(), callMayListen, addr, &may)
	return may
}

func (n *network) Dial(ctx context.Context, network, name string, addr netip.AddrPort) (net.Conn, error) {
	return connect(n.conn, ctx, callDial, dial{network, name, addr})
}

// connect calls for a connection.
func connect(c *wire.Conn, ctx context.Context, method uint8, argument any) (net.Conn, error) {
	var e ends
	f, err := c.Call(ctx, method, argument, &e)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errors.New("a connection without a socket")
	}
	u, err := wire.Socket(f)
	if err != nil {
		return nil, err
	}
	return &relayed{u, net.TCPAddrFromAddrPort(e.Local), net.TCPAddrFromAddrPort(e.Remote)}, nil
}

// relayed is a connection whose bytes the server copies.
type relayed struct {
	*net.UnixConn
	local, remote net.Addr
}

func (r *relayed) LocalAddr() net.Addr  { return r.local }
func (r *relayed) RemoteAddr() net.Addr { return r.remote }

func (n *network) Listen(ctx context.Context, network string, addr netip.AddrPort) (net.Listener, error) {
	l := &listener{atServer{conn: n.conn}}
	_, err := n.conn.Call(ctx, callListen, dial{Network: network, Addr: addr}, &l.port)
	return l, err
}

// atServer is a socket that the server has for the run.
type atServer struct {
	conn *wire.Conn
	port port
}

func (a *atServer) Close() error {
	_, err := a.conn.Call(context.Background(), callHangUp, a.port.ID, nil)
	return err
}

// listener is a socket that listens.
type listener struct{ atServer }

func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.port.At) }

func (l *listener) Accept() (net.Conn, error) {
	return connect(l.conn, context.Background(), callAccept, l.port.ID)
}

func (n *network) ListenPacket(ctx context.Context, network string, addr netip.AddrPort) (netstack.PacketConn, error) {
	p := &packets{atServer{conn: n.conn}}
	_, err := n.conn.Call(ctx, callListenPacket, dial{Network: network, Addr: addr}, &p.port)
	return p, err
}

// packets is a socket of UDP.
type packets struct{ atServer }

func (p *packets) Check(to netip.AddrPort) error {
	_, err := p.conn.Call(context.Background(), callCheck, datagram{ID: p.port.ID, Addr: to}, nil)
	return err
}

func (p *packets) WriteTo(b []byte, to netip.AddrPort) (n int, err error) {
	_, err = p.conn.Call(context.Background(), callSend, datagram{p.port.ID, to, b}, &n)
	return n, err
}

func (p *packets) ReadFrom(b []byte) (int, netip.AddrPort, error) {
	var d datagram
	_, err := p.conn.Call(context.Background(), callReceive, datagram{ID: p.port.ID}, &d)
	return copy(b, d.Data), d.Addr, err
}
