package fetch

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestCertificatesAreVerified(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c := open(t, t.TempDir(), Options{})
	_, err := c.Get(context.Background(), s.URL+"/x", nil, 100)
	wantError(t, err, "certificate", "SSL_CERT_FILE")
}

func TestHTTPSIsNotLeft(t *testing.T) {
	plain, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(payload) })
	s := httptest.NewTLSServer(http.RedirectHandler(plain+"/x?token=hunter2", http.StatusFound))
	defer s.Close()
	c := open(t, t.TempDir(), Options{HTTP: s.Client()})
	_, err := c.Get(context.Background(), s.URL, nil, 1<<20)
	wantError(t, err, "redirect from https to "+plain+"/x?… refused")
	if requests.Load() != 0 || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("it was asked %d times: %v", requests.Load(), err)
	}
}

// Redirects may not lead from the outside into the own network; all names
// here lead to one server, whose address they are only said to have.
func TestPrivateRedirects(t *testing.T) {
	addrs := map[string]string{"public.test": "203.0.113.5", "other.test": "203.0.113.6", "intranet.test": "10.1.2.3",
		"mapped.test": "::ffff:192.168.1.1", "shared.test": "100.64.0.1", "six.test": "fd00::1", "both.test": "::ffff:100.64.0.1"}
	cases := []struct {
		from, to string
		refused  bool
	}{
		{"public.test", "other.test", false},
		{"public.test", "intranet.test", true},
		{"public.test", "127.0.0.1", true},
		{"public.test", "[::1]", true},
		{"public.test", "[::ffff:127.0.0.1]", true},
		{"public.test", "169.254.169.254", true},
		{"public.test", "0.0.0.0", true},
		{"public.test", "localhost", true},
		{"public.test", "LOCALHOST.", true},
		{"public.test", "mapped.test", true},
		{"public.test", "shared.test", true},
		{"public.test", "six.test", true},
		{"public.test", "both.test", true},
		{"intranet.test", "six.test", false},
		{"intranet.test", "other.test", false},
		{"public.test", "unknown.test", false}, // for a proxy to look up
	}
	base, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Referer"); got != "" {
			t.Errorf("Referer: %s", got)
		}
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, "http://"+to+"/", http.StatusFound)
			return
		}
		io.WriteString(w, "arrived")
	})
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(base, "http://"))
	}}}
	c := open(t, t.TempDir(), Options{HTTP: client})
	c.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		if addr, ok := addrs[host]; ok {
			return []netip.Addr{netip.MustParseAddr(addr)}, nil
		}
		return nil, errors.New("no such host")
	}
	for _, tc := range cases {
		resp, err := c.Get(context.Background(), "http://"+tc.from+"/?to="+url.QueryEscape(tc.to), nil, 100)
		switch {
		case tc.refused:
			if err == nil || !strings.Contains(err.Error(), "the address is private") {
				t.Errorf("%s to %s: %v, want it refused", tc.from, tc.to, err)
			}
		case err != nil:
			t.Errorf("%s to %s: %v", tc.from, tc.to, err)
		case resp.URL != "http://"+tc.to+"/":
			t.Errorf("%s to %s: the answer is from %s", tc.from, tc.to, resp.URL)
		}
	}
}
