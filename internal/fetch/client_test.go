package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
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
	c := open(t, t.TempDir(), Options{Transport: s.Client().Transport})
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
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(base, "http://"))
	}}
	c := open(t, t.TempDir(), Options{Transport: transport})
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

func TestGet(t *testing.T) {
	bomb := gzipped(t, make([]byte, 64<<20))
	base, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/small":
			fmt.Fprintf(w, "accept %s", r.Header.Get("Accept"))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb)
		case "/endless":
			for r.Context().Err() == nil {
				w.Write(payload)
			}
		default:
			http.NotFound(w, r)
		}
	})
	c := open(t, t.TempDir(), Options{})
	ctx := context.Background()
	resp, err := c.Get(ctx, base+"/small", http.Header{"accept": {"text/x"}}, 13)
	if err != nil || string(resp.Body) != "accept text/x" || resp.URL != base+"/small" {
		t.Errorf("Get: %+v, %v", resp, err)
	}
	var size *SizeError
	for _, path := range []string{"/small", "/bomb", "/endless"} {
		if _, err := c.Get(ctx, base+path, nil, 3); !errors.As(err, &size) || size.Max != 3 {
			t.Errorf("Get %s: %v, want it too large", path, err)
		}
	}
	var status *HTTPError
	if _, err := c.Get(ctx, base+"/none?x=hunter2", nil, 10); !errors.As(err, &status) || status.Status != 404 || status.URL != base+"/none?…" {
		t.Errorf("Get of nothing: %v", err)
	}
}

func TestDirectoryAsServer(t *testing.T) {
	dir := t.TempDir()
	check(t, os.MkdirAll(filepath.Join(dir, "simple", "six"), 0o700))
	check(t, os.WriteFile(filepath.Join(dir, "simple", "six", "index.html"), []byte("<a>"), 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "blob"), payload, 0o600))
	base := (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
	c := open(t, t.TempDir(), Options{Offline: true}) // no network is needed
	ctx := context.Background()
	resp, err := c.Get(ctx, base+"/simple/six/", nil, 100)
	if err != nil || string(resp.Body) != "<a>" || resp.Header.Get("Content-Type") != "text/html" {
		t.Errorf("Get: %+v, %v", resp, err)
	}
	for _, path := range []string{"/simple/seven/", "/simple/"} {
		var status *HTTPError
		if _, err := c.Get(ctx, base+path, nil, 100); !errors.As(err, &status) || status.Status != 404 {
			t.Errorf("Get %s: %v, want 404", path, err)
		}
	}
	if _, _, err := c.Blob(ctx, Source{URL: base + "/blob", Digest: sha256Of(payload)}, nil); err != nil {
		t.Errorf("Blob: %v", err)
	}
	var digest *DigestError
	if _, _, err := c.Blob(ctx, Source{URL: base + "/blob", Digest: sha256Of(nil)}, nil); !errors.As(err, &digest) {
		t.Errorf("Blob with another digest: %v", err)
	}
	if _, err := c.Get(ctx, "file:///dev/zero", nil, 100); err == nil {
		t.Error("a device is read")
	}
}
