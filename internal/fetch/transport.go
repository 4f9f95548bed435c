package fetch

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"
)

// defaultTransport verifies certificates, as Go always does, against the
// system's or those of SSL_CERT_FILE and SSL_CERT_DIR.
func defaultTransport(control dialControl) *http.Transport {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second, Control: control}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    15 * time.Second,
		ResponseHeaderTimeout:  30 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// guarded is a request's context value. While on, private addresses are refused.
type guarded struct{ on atomic.Bool }

type guardedKey struct{}

// dialControl is a net.Dialer's Control.
type dialControl = func(network, address string, conn syscall.RawConn) error

// guard sends guarded requests over separate connections, none of which is to a
// private address. With a proxy, the proxy dials, and its own rules apply.
type guard struct{ free, strict *http.Transport }

func newGuard(make func(dialControl) *http.Transport) *guard {
	return &guard{free: make(nil), strict: make(refusePrivate)}
}

func refusePrivate(_, address string, _ syscall.RawConn) error {
	if to, err := netip.ParseAddrPort(address); err != nil || privateAddr(to.Addr()) {
		return &redirectError{fmt.Sprintf("connection to %s refused: a public registry led to it, and the address is private", address)}
	}
	return nil
}

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if v, ok := req.Context().Value(guardedKey{}).(*guarded); ok && v.on.Load() && !proxied(g.free.Proxy, req) {
		return g.strict.RoundTrip(req)
	}
	return g.free.RoundTrip(req)
}

// CloseIdleConnections implements the method that http.Client looks for.
func (g *guard) CloseIdleConnections() {
	g.free.CloseIdleConnections()
	g.strict.CloseIdleConnections()
}

func proxied(proxy func(*http.Request) (*url.URL, error), req *http.Request) bool {
	if proxy == nil {
		return false
	}
	u, err := proxy(req)
	return u != nil || err != nil
}

// sharedAddrs is the carrier-grade NAT range (RFC 6598), which netip does not
// count as private.
var sharedAddrs = netip.MustParsePrefix("100.64.0.0/10")

func privateAddr(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified() ||
		a.IsMulticast() || a.IsInterfaceLocalMulticast() || sharedAddrs.Contains(a) || a.Is4() && a.As4()[0] == 0
}
