package cache

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const userAgent = "coderunner"

// fetcher fetches; its durations are fields so that tests need not wait.
type fetcher struct {
	client   *http.Client
	lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	attempts int           // how often a request is made at most
	backoff  time.Duration // before the second attempt; doubles
	maxWait  time.Duration // what a Retry-After may ask for
	stall    time.Duration // without minProgress bytes a transfer is given up
}

const (
	maxRedirects = 10
	minProgress  = 1 << 10 // bytes
)

func newFetcher(client *http.Client) *fetcher {
	f := &fetcher{
		lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		attempts: 4,
		backoff:  500 * time.Millisecond,
		maxWait:  20 * time.Second,
		stall:    30 * time.Second,
	}
	var own http.Client
	if client != nil {
		own = *client
	} else {
		own.Transport = newGuard(defaultTransport)
	}
	theirs := own.CheckRedirect
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := f.checkRedirect(req, via); err != nil {
			return err
		}
		if theirs != nil {
			return theirs(req, via)
		}
		return nil
	}
	f.client = &own
	return f
}

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

// lookupTimeout bounds looking up where a redirect leads.
const lookupTimeout = 5 * time.Second

// isPrivate reports whether the host is this machine or its own network. A
// name that cannot be looked up is none of that: only a proxy can reach it.
func (f *fetcher) isPrivate(ctx context.Context, u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return privateAddr(addr)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := f.lookup(ctx, host)
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

// sharedAddrs is the carriers' own range (RFC 6598), which netip does not
// count as private.
var sharedAddrs = netip.MustParsePrefix("100.64.0.0/10")

func privateAddr(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified() ||
		a.IsMulticast() || a.IsInterfaceLocalMulticast() || sharedAddrs.Contains(a) || a.Is4() && a.As4()[0] == 0
}

// parseURL accepts http, https and file URLs. Its error does not repeat the
// text, which may hold a password.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the URL cannot be parsed")
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return nil, fmt.Errorf("URL %s: no host", safeURL(u))
		}
	case "file":
		if u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") {
			return nil, fmt.Errorf("URL %s: want file:///path", safeURL(u))
		}
	default:
		return nil, fmt.Errorf("URL %s: want https, http or file", safeURL(u))
	}
	return u, nil
}
