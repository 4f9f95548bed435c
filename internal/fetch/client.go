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
// address are refused at dial time; behind a proxy, or with Options.Transport, only
// by lookup. Deno's own fetches are not covered.
//
// # Testing
//
// Faults of the network come from servers in the tests.
package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"coderunner/cache"
)

const userAgent = "coderunner"

// Options configures a [Client].
type Options struct {
	// Offline forbids fetching: a file that is not in the cache is [ErrOffline].
	Offline bool

	// Transport is what to fetch with. Nil takes its proxy from HTTPS_PROXY and its
	// certificates from the system, SSL_CERT_FILE and SSL_CERT_DIR.
	Transport http.RoundTripper
}

// Client downloads. Its methods are safe for concurrent use.
type Client struct {
	cache   *cache.Cache
	offline bool

	client   *http.Client
	lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	attempts int           // maximum per request
	backoff  time.Duration // before the second attempt; three times as long before each one after
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
		backoff:  200 * time.Millisecond,
		maxWait:  20 * time.Second,
		stall:    30 * time.Second,

		getTimeout: 2 * time.Minute,
	}
	if o.Transport == nil {
		o.Transport = newGuard(defaultTransport)
	}
	c.client = &http.Client{Transport: o.Transport, CheckRedirect: c.checkRedirect}
	return c
}

// Offline reports whether fetching is forbidden.
func (c *Client) Offline() bool { return c.offline }

// Close closes idle connections. No other method may be running.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// request is a URL to fetch, with retries.
type request struct {
	name   string // for errors
	url    *url.URL
	header http.Header
	raw    bool     // ask for the stored bytes, without a content encoding
	from   *url.URL // of the page that named the URL, nil if the user did
}

// answer is an answer with a successful status. Reading a stalled body
// returns an error.
type answer struct {
	header http.Header
	url    *url.URL // after redirects
	size   int64    // as announced, -1 if not
	body   io.Reader
}
