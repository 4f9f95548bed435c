package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
)

// The registry that the user chose may be on a private address. A redirect or a
// link from a public registry may not lead to one: we would send requests to the
// user's own machines on the registry's behalf (SSRF). Such a request is guarded
// from then on. The name is looked up first, for a clear error; the dialled
// address is checked again, against names whose address changes in between (DNS
// rebinding).

// redirectError is a redirect or link that is not followed. It is not retried.
type redirectError struct{ msg string }

func (e *redirectError) Error() string { return e.msg }

// guarded is a request's context value. While on, private addresses are refused.
type guarded struct{ on atomic.Bool }

type guardedKey struct{}

// checkLink checks the request's first URL and adds its guarded value to ctx.
func (c *Client) checkLink(ctx context.Context, r request) (context.Context, error) {
	g := new(guarded)
	ctx = context.WithValue(ctx, guardedKey{}, g)
	if r.from == nil || r.from.Scheme == "file" || r.url.Scheme != "file" && r.url.Hostname() == r.from.Hostname() {
		return ctx, nil
	}
	switch {
	case r.url.Scheme == "file":
		return ctx, &redirectError{fmt.Sprintf("link from %s to %s refused: it is a file of this machine", safeURL(r.from), safeURL(r.url))}
	case c.isPrivate(ctx, r.from):
	case c.isPrivate(ctx, r.url):
		return ctx, &redirectError{fmt.Sprintf("link from %s to %s refused: the address is private", safeURL(r.from), safeURL(r.url))}
	default:
		g.on.Store(true)
	}
	return ctx, nil
}

func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	req.Header.Del("Referer") // it repeats the query of the previous URL, which may be secret
	first, last := via[0].URL, via[len(via)-1].URL
	to := safeURL(req.URL)
	switch {
	case len(via) >= maxRedirects:
		return &redirectError{fmt.Sprintf("more than %d redirects, the last to %s", maxRedirects, to)}
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return &redirectError{fmt.Sprintf("redirect to %s refused: neither http nor https", to)}
	case last.Scheme == "https" && req.URL.Scheme == "http":
		return &redirectError{fmt.Sprintf("redirect from https to %s refused", to)}
	}
	g, _ := req.Context().Value(guardedKey{}).(*guarded)
	already := g != nil && g.on.Load()
	if req.URL.Hostname() == first.Hostname() && !already {
		return nil
	}
	ctx := req.Context()
	if c.isPrivate(ctx, req.URL) && (already || !c.isPrivate(ctx, first)) {
		return &redirectError{fmt.Sprintf("redirect to %s refused: the address is private", to)}
	}
	if g != nil && !already && !c.isPrivate(ctx, first) {
		g.on.Store(true)
	}
	return nil
}

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
