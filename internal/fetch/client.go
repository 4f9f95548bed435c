// Package fetch downloads: documents, files of a known digest, and packages of
// an npm registry. Files with a digest are kept in a [cache.Cache] and fetched
// only if they are not there.
//
// Network failures are retried; definitive answers (404) are not. Nothing is
// used before its digest was compared. A registry may be a directory, named by a
// file URL.
//
// # Limits
//
// Downloads are not resumed. The only credentials are those in a URL: .npmrc and
// .netrc are not read. Redirects and links from a public registry to a private
// address are refused at dial time; behind a proxy, or with Options.HTTP, only
// by lookup. Deno's own fetches are not covered.
//
// # Testing
//
// Faults of the network come from servers in the tests.
package fetch

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"coderunner/cache"
)

const userAgent = "coderunner"

// Options configures a [Client].
type Options struct {
	// Offline forbids fetching: a file that is not in the cache is [ErrOffline].
	Offline bool

	// HTTP is the client to fetch with. Nil is a client that takes its proxy
	// from HTTPS_PROXY and its certificates from the system, SSL_CERT_FILE and
	// SSL_CERT_DIR. Redirects are checked in either case.
	HTTP *http.Client
}

// Client downloads. Its methods are safe for concurrent use.
type Client struct {
	cache   *cache.Cache
	offline bool

	client   *http.Client
	lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	attempts int           // maximum per request
	backoff  time.Duration // before the second attempt; doubles
	maxWait  time.Duration // upper bound of a Retry-After
	stall    time.Duration // a transfer without minProgress bytes in it is aborted

	getTimeout time.Duration // for a small document, all attempts together
}

const (
	maxRedirects = 10
	minProgress  = 1 << 10 // bytes
)

// New returns a Client that keeps its downloads in store.
func New(store *cache.Cache, o Options) *Client {
	c := &Client{
		cache:   store,
		offline: o.Offline,
		lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		attempts: 4,
		backoff:  500 * time.Millisecond,
		maxWait:  20 * time.Second,
		stall:    30 * time.Second,

		getTimeout: 2 * time.Minute,
	}
	var own http.Client
	if o.HTTP != nil {
		own = *o.HTTP
	} else {
		own.Transport = newGuard(defaultTransport)
	}
	theirs := own.CheckRedirect
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := c.checkRedirect(req, via); err != nil {
			return err
		}
		if theirs != nil {
			return theirs(req, via)
		}
		return nil
	}
	c.client = &own
	return c
}

// Offline reports whether fetching is forbidden.
func (c *Client) Offline() bool { return c.offline }

// Close closes idle connections. No other method may be running.
func (c *Client) Close() { c.client.CloseIdleConnections() }

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
	for _, addr := range addrs {
		if privateAddr(addr) {
			return true
		}
	}
	return false
}

// sharedAddrs is the carrier-grade NAT range (RFC 6598), which netip does not
// count as private.
var sharedAddrs = netip.MustParsePrefix("100.64.0.0/10")

func privateAddr(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified() ||
		a.IsMulticast() || a.IsInterfaceLocalMulticast() || sharedAddrs.Contains(a) || a.Is4() && a.As4()[0] == 0
}
