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
	"strings"
	"time"
)

// dialTimeout bounds the making of a connection whose ctx has no end.
const dialTimeout = 2 * time.Minute

// Dial connects to addr, which must be allowed by itself or by a name that was
// looked up in this run, or by the user: see Admit. Network is tcp or udp, name what the program asked for, or
// "". The error is *Refused or *net.OpError.
func (r *Run) Dial(ctx context.Context, network, name string, addr netip.AddrPort) (net.Conn, error) {
	if network == "tcp" {
		r.Admit(ctx, name, addr)
	}
	t, err := r.Check(network, name, addr)
	if err != nil {
		return nil, err
	}
	return r.DialTarget(ctx, network, t)
}

// DialTarget connects to what [Run.Check] has checked.
func (r *Run) DialTarget(ctx context.Context, network string, t Target) (net.Conn, error) {
	if t.Relayed && !strings.HasPrefix(network, "tcp") {
		return nil, errOnlyTCP(network)
	}
	if t.intercept {
		return &countedConn{r.intercepted(t), t.Counter}, nil
	}
	c, err := r.dialHost(ctx, network, t)
	if err != nil {
		return nil, err
	}
	return &countedConn{c, t.Counter}, nil
}

// errOnlyTCP is the error of datagrams to what is not dialled directly.
func errOnlyTCP(network string) error {
	return &net.OpError{Op: "dial", Net: network, Err: errors.New("only TCP goes through a proxy, a recording or a replay")}
}

// dialHost makes the connection itself.
func (r *Run) dialHost(ctx context.Context, network string, t Target) (net.Conn, error) {
	if t.proxy != nil {
		return dialProxy(ctx, t)
	}
	addrs := []netip.Addr{t.Addr.Addr()}
	var err error
	switch {
	case isStandIn(t.Addr.Addr()):
		addrs, err = r.LookupIP(ctx, t.Host)
	case t.intercept:
		// The program believes that it is connected, and tries no other.
		r.mu.Lock()
		addrs = append(addrs, r.names[t.Host]...)
		r.mu.Unlock()
	}
	if err != nil {
		return nil, err
	}
	d := &net.Dialer{Timeout: dialTimeout}
	for _, addr := range addrs {
		at := netip.AddrPortFrom(addr.Unmap(), t.Addr.Port())
		verdict := r.answered(r.policy.checkAddr([]string{t.Host}, at.Addr(), at.Port()), t.Host, at.Port())
		if verdict != allowed {
			refused := &Refused{Host: t.Host, Addr: at.Addr(), Port: at.Port(), why: verdict}
			r.contact(t.Host, at.Port(), refused)
			err = refused
			continue
		}
		var c net.Conn
		if c, err = d.DialContext(ctx, network, at.String()); err == nil {
			return c, nil
		}
	}
	if err == nil {
		err = &net.DNSError{Err: "no such host", Name: t.Host, IsNotFound: true}
	}
	return nil, err
}

// intercepted returns a connection to the Interceptor.
func (r *Run) intercepted(t Target) net.Conn {
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		r.Intercept.Serve(ctx, theirs, t.Host, t.Addr.Port(),
			func(ctx context.Context) (net.Conn, error) { return r.dialHost(ctx, "tcp", t) },
			func(what string) { r.missing(t, what) })
	}()
	return &cancelConn{ours, cancel}
}

// cancelConn cancels what serves it when it is closed.
type cancelConn struct {
	net.Conn
	cancel context.CancelFunc
}

func (c *cancelConn) Close() error {
	err := c.Conn.Close()
	c.cancel()
	return err
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
	return &listener{l, r.contact("listening on "+at.Addr().String(), at.Port(), nil), r.Listening(network, at, nil)}, nil
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
