package netpolicy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// dialTimeout bounds the making of a connection whose ctx has no end.
const dialTimeout = 2 * time.Minute

// Dial connects to addr, which must be allowed by itself or by a name that was
// looked up in this run. Network is tcp or udp, name what the program asked for, or
// "". The error is *Refused or *net.OpError.
func (r *Run) Dial(ctx context.Context, network, name string, addr netip.AddrPort) (net.Conn, error) {
	t, err := r.Check(name, addr)
	if err != nil {
		return nil, err
	}
	return r.DialTarget(ctx, network, t)
}

// DialTarget connects to what [Run.Check] has checked.
func (r *Run) DialTarget(ctx context.Context, network string, t Target) (net.Conn, error) {
	var c net.Conn
	var err error
	switch {
	case t.Relayed && network != "tcp":
		err = &net.OpError{Op: "dial", Net: network, Err: errors.New("only TCP goes through the proxy")}
	case t.proxy != nil:
		c, err = dialProxy(ctx, t)
	default:
		c, err = (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, t.Addr.String())
	}
	if err != nil {
		return nil, err
	}
	return &countedConn{c, t.Counter}, nil
}

// Listen listens on the host's interfaces.
func (r *Run) Listen(ctx context.Context, network string, addr netip.AddrPort) (net.Listener, error) {
	if err := r.CheckListen(addr); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, network, addr.String())
	if err != nil {
		return nil, err
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	return &listener{l, r.contact("listening on "+at.Addr().String(), at.Port(), nil), r.Listening(at.Port(), nil)}, nil
}

// ListenPacket is Listen for datagrams. Any program with a network may have a
// socket with a port of no choice of its own; where it sends to is checked.
func (r *Run) ListenPacket(ctx context.Context, network string, addr netip.AddrPort) (net.PacketConn, error) {
	if addr.Port() != 0 || !r.policy.Any() {
		if err := r.CheckListen(addr); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	c, err := lc.ListenPacket(ctx, network, addr.String())
	if err != nil {
		return nil, err
	}
	return &packetConn{PacketConn: c, run: r, closed: r.Listening(c.LocalAddr().(*net.UDPAddr).AddrPort().Port(), nil)}, nil
}

// listener counts what its connections carry.
type listener struct {
	net.Listener
	counter *Counter
	closed  func()
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{c, l.counter}, nil
}

func (l *listener) Close() error {
	l.closed()
	return l.Listener.Close()
}

// packetConn checks where each datagram goes.
type packetConn struct {
	net.PacketConn
	run    *Run
	closed func()
}

func (c *packetConn) WriteTo(b []byte, to net.Addr) (int, error) {
	udp, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, &net.AddrError{Err: "not a UDP address", Addr: to.String()}
	}
	t, err := c.run.Check("", udp.AddrPort())
	if err != nil {
		return 0, err
	}
	if t.Relayed {
		return 0, &net.OpError{Op: "write", Net: "udp", Err: errors.New("only TCP goes through the proxy")}
	}
	n, err := c.PacketConn.WriteTo(b, to)
	t.Counter.Add(int64(n), 0)
	return n, err
}

func (c *packetConn) Close() error {
	c.closed()
	return c.PacketConn.Close()
}

// countedConn counts bytes.
type countedConn struct {
	net.Conn
	counter *Counter
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.counter.Add(0, int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.counter.Add(int64(n), 0)
	return n, err
}

// CloseWrite ends what is sent, where the connection can.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// NetConn returns the connection below, for its options.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

// proxyFor returns the proxy for a host, nil for none.
func (r *Run) proxyFor(host string, port uint16) *url.URL {
	if r.Proxy == nil {
		return nil
	}
	scheme := "https"
	if port == 80 {
		scheme = "http"
	}
	u, err := r.Proxy(&url.URL{Scheme: scheme, Host: hostPort(host, port)})
	if err != nil {
		return nil
	}
	return u
}

// dialProxy asks a proxy for a connection to the host of t, whose name the proxy
// looks up.
func dialProxy(ctx context.Context, t Target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("ask the proxy %s: %w", t.proxy.Host, err)}
	}
	at, secure := t.proxy.Host, t.proxy.Scheme == "https"
	if t.proxy.Port() == "" {
		at = net.JoinHostPort(t.proxy.Hostname(), map[bool]string{false: "80", true: "443"}[secure])
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return fail(err)
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if secure {
		c = tls.Client(c, &tls.Config{ServerName: t.proxy.Hostname()})
	}
	to := net.JoinHostPort(t.Host, strconv.Itoa(int(t.Addr.Port())))
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: http.Header{}}
	if u := t.proxy.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err = req.Write(c); err != nil {
		c.Close()
		return fail(err)
	}
	br := bufio.NewReaderSize(c, 4096)
	resp, err := http.ReadResponse(br, req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", resp.Status)
	}
	if err == nil && br.Buffered() > 0 {
		err = errors.New("it sends more than its answer")
	}
	if err != nil {
		c.Close()
		return fail(err)
	}
	return c, nil
}
