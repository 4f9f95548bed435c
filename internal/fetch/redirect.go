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

// The user chooses a registry, and it may be on a private address. What a
// registry on a public one says next (a redirect, a link) may not be: it would
// have us ask the user's own machines on its behalf. Such a request is guarded
// from then on. The name is looked up first, for a clear error; and the address
// that is really dialled is checked as it is dialled, so that a name which
// changes its address in between gets nowhere.

// redirectError is a redirect or link that is not followed. Trying again would
// not help.
type redirectError struct{ msg string }

func (e *redirectError) Error() string { return e.msg }

// guarded is the context value of a request: whether it may no longer lead to
// private addresses.
type guarded struct{ on atomic.Bool }

type guardedKey struct{}

// checkLink checks where a request begins, and prepares ctx for it.
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
	req.Header.Del("Referer") // it has the query of the URL before, with its secrets
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

// guard sends guarded requests over connections of their own, none of which is
// to a private address. Through a proxy it is the proxy that dials, and that
// knows which network it is in.
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

// CloseIdleConnections is what http.Client looks for.
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
