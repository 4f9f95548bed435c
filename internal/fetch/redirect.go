package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The registry that the user chose may be on a private address. A redirect or a
// link from a public registry may not lead to one: we would send requests to the
// user's own machines on the registry's behalf (SSRF). Such a request is guarded
// from then on. The name is looked up first, for a clear error; the dialled
// address is checked again, against names whose address changes in between (DNS
// rebinding).

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

// lookupTimeout bounds the lookup of a redirect's host.
const lookupTimeout = 5 * time.Second

// isPrivate reports whether the host is this machine or on its private network.
// A name that cannot be looked up is not: only a proxy can reach it.
func (c *Client) isPrivate(ctx context.Context, u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return privateAddr(addr)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := c.lookup(ctx, host)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(addrs, privateAddr)
}
