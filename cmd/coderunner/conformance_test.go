package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/internal/conformance"
)

// TestConformance lets the protocol's own suite test coderunner serve --http, as it stands:
// behind a proxy that adds the token and changes nothing else. Scenarios that want tools of
// the suite's own are expected to fail, and run in internal/server.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches Deno and the suite")
	}
	const token = "token-of-the-suite"
	s := startHTTP(t, []string{"CODE_RUNNER_HTTP_TOKEN=" + token})
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	for { // until the tool's description does not change any more
		answer, err := http.Get(to.JoinPath("../readyz").String())
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			break
		}
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Transport: &http.Transport{DisableKeepAlives: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Header.Set("Authorization", "Bearer "+token)
			// An answer that comes before the proxy has seen the body's end closes the body,
			// and with it the connection that the answer is read from: it has all of it before.
			if body, _ := io.ReadAll(r.In.Body); len(body) > 0 {
				r.Out.Body = io.NopCloser(bytes.NewReader(body))
			}
		},
	})
	defer front.Close()
	for _, suite := range conformance.Suites {
		t.Run(suite.Name(), func(t *testing.T) {
			passed := conformance.Run(t, front.URL+"/mcp", suite, filepath.Join("testdata", "conformance", suite.Name()+".yaml"))
			if passed < 6 {
				t.Errorf("%d scenarios passed", passed)
			}
		})
	}
	if strings.Contains(s.log.String(), "panic") {
		t.Errorf("the log has a panic: %s", s.log)
	}
}
