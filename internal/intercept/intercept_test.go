package intercept

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const value = `s3cr3t-"va+lue/of-api`

func parsed(t testing.TB, list string) *Secrets {
	t.Helper()
	s, err := ParseSecrets(list, func(string) (string, bool) { return value, true })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// echo answers with what it was sent.
func echo(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	user, password, _ := req.BasicAuth()
	w.Header().Set("X-Key", req.Header.Get("X-Key"))
	switch req.URL.Path {
	case "/upgrade":
		upgraded(w, req)
		return
	case "/trailer":
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "text")
		w.Header().Set("X-Sum", req.Header.Get("X-Key"))
		w.Header().Set(http.TrailerPrefix+"X-Late", req.Header.Get("X-Key"))
		return
	case "/pieces":
		for _, b := range body {
			_, _ = w.Write([]byte{b})
			_ = http.NewResponseController(w).Flush()
		}
		return
	}
	fmt.Fprintf(w, "%s|%s|%s|%s|%s", req.URL, req.Header.Get("Authorization"), user+":"+password, body, req.Header.Get("X-Key"))
}

// fixture is a host and an Interceptor between it and a client.
type fixture struct {
	host   *httptest.Server
	client *http.Client
	i      *Interceptor
	seen   []string // what the host was sent
	missed []string
	dials  int
}

func start(t *testing.T, s *Secrets) *fixture {
	f := &fixture{}
	f.host = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		user, password, _ := req.BasicAuth()
		if req.URL.Path == "/upgrade" {
			f.seen = append(f.seen, fmt.Sprint("extensions ", req.Header["Sec-Websocket-Extensions"]))
		}
		f.seen = append(f.seen, fmt.Sprint(req.RequestURI, "|", req.Header.Get("X-Key"), "|", user, ":", password, "|", string(body)))
		echo(w, req)
	}))
	var err error
	if f.i, err = New(s); err != nil {
		t.Fatal(err)
	}
	f.i.roots = x509.NewCertPool()
	f.i.roots.AddCert(f.host.Certificate())
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(f.i.Root())
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go f.i.Serve(context.Background(), theirs, "example.com", 443, func(context.Context) (net.Conn, error) {
				f.dials++
				return net.Dial("tcp", f.host.Listener.Addr().String())
			}, func(what string) { f.missed = append(f.missed, what) })
			return ours, nil
		},
	}
	f.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		f.i.end()
		f.i.work.Wait()
		f.host.Close()
	})
	return f
}

// do sends a request and returns the answer's header and body.
func (f *fixture) do(t *testing.T, method, at, kind, body string, change func(*http.Request)) (http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(method, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if change != nil {
		change(req)
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, "error: " + err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("read the answer: %v", err)
	}
	if resp.ProtoMajor != 1 {
		t.Errorf("the protocol is %s", resp.Proto)
	}
	return resp.Header, string(text)
}

// TestSecrets puts a secret into every part of a request, and none of it comes back.
func TestSecrets(t *testing.T) {
	f := start(t, parsed(t, "API_KEY=example.com+body,API_KEY_2=example.com,OTHER=other.com+body"))
	key := f.i.Environment()["API_KEY"]
	other := f.i.Environment()["OTHER"]
	for _, tt := range []struct{ kind, body, want string }{
		{"text/plain", key + other, value + other},
		{"application/json", `{"k":"` + key + `"}`, `{"k":"s3cr3t-\"va+lue/of-api"}`},
		{"application/x-www-form-urlencoded", "k=" + key, "k=" + url.QueryEscape(value)},
	} {
		f.seen = nil
		header, text := f.do(t, "POST", "https://example.com/p?k="+key, tt.kind, tt.body, func(r *http.Request) {
			r.Header.Set("X-Key", key)
			r.SetBasicAuth("me", key)
		})
		want := "/p?k=" + url.QueryEscape(value) + "|" + value + "|me:" + value + "|" + tt.want
		if len(f.seen) != 1 || f.seen[0] != want {
			t.Errorf("%s: the host got %q, want %q", tt.kind, f.seen, want)
		}
		for _, s := range append(forms(value), base64.StdEncoding.EncodeToString([]byte("me:"+value))) {
			if strings.Contains(text, s) || header.Get("X-Key") != key {
				t.Errorf("%s: the program got %q, X-Key %q", tt.kind, text, header.Get("X-Key"))
			}
		}
	}
	f.seen = nil
	second := f.i.Environment()["API_KEY_2"]
	f.do(t, "POST", "https://example.com/p", "text/plain", second, func(r *http.Request) { r.Header.Set("X-Key", second) })
	if want := "/p|" + value + "|:|" + second; len(f.seen) != 1 || f.seen[0] != want {
		t.Errorf("of a secret that is not for bodies the host got %q, want %q", f.seen, want)
	}
	if _, text := f.do(t, "POST", "https://example.com/pieces", "text/plain", "a "+key+" b", nil); text != "a "+key+" b" {
		t.Errorf("in pieces: %q", text)
	}
}

// TestLargeBody sends bodies that are not searched: whole, and with the secret in the
// header.
func TestLargeBody(t *testing.T) {
	for _, record := range []bool{false, true} {
		f := start(t, parsed(t, "API_KEY=example.com"))
		key := f.i.Environment()["API_KEY"]
		if record {
			f.i.Record("test")
		}
		body := key + strings.Repeat("x", maxSearched)
		f.do(t, "POST", "https://example.com/p", "text/plain", body, func(r *http.Request) { r.Header.Set("X-Key", key) })
		if want := "/p|" + value + "|:|" + body; len(f.seen) != 1 || f.seen[0] != want {
			t.Errorf("recorded: %v: the host got %d requests: %.60q", record, len(f.seen), f.seen)
		}
	}
}

// TestOtherName refuses requests for hosts that share the address.
func TestOtherName(t *testing.T) {
	f := start(t, parsed(t, "API_KEY=example.com"))
	key := f.i.Environment()["API_KEY"]
	if _, text := f.do(t, "GET", "https://evil.com/"+key, "", "", nil); !strings.HasPrefix(text, "error: ") {
		t.Errorf("TLS for another name: %q", text)
	}
	_, text := f.do(t, "GET", "https://example.com/"+key, "", "", func(r *http.Request) { r.Host = "evil.com" })
	if !strings.Contains(text, "the request is for evil.com") || len(f.seen) != 0 {
		t.Errorf("the Host of another name: %q, the host got %q", text, f.seen)
	}
	if _, text := f.do(t, "GET", "http://example.com/"+key, "", "", nil); len(f.seen) != 0 || strings.Contains(text, value) {
		t.Errorf("without TLS: %q, the host got %q", text, f.seen)
	}
}

// TestReplay records exchanges and has them again without the host.
func TestReplay(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.har")
	s := parsed(t, "API_KEY=example.com+body")
	run := func(f *fixture) (all string) {
		key := f.i.Environment()["API_KEY"]
		for range 2 {
			header, text := f.do(t, "POST", "https://example.com/p?k="+key, "text/plain", "\xff\x00 "+key, nil)
			all += fmt.Sprintln(header, text)
		}
		header, text := f.do(t, "POST", "https://example.com/pieces", "text/plain", "a b", nil)
		return all + fmt.Sprintln(header, text)
	}
	f := start(t, s)
	f.i.Record("test")
	first := run(f)
	f.client.CloseIdleConnections()
	if err := f.i.Save(name, nil); err != nil {
		t.Fatal(err)
	}
	g := start(t, s)
	if err := g.i.Replay(name); err != nil {
		t.Fatal(err)
	}
	if second := run(g); second != first || g.dials != 0 {
		t.Errorf("replayed:\n%s\nrecorded:\n%s\n%d connections", second, first, g.dials)
	}
	for _, tt := range []struct{ path, body string }{{"/pieces", "a b"}, {"/p", ""}, {"/pieces", "other"}} {
		g.missed = nil
		_, text := g.do(t, "POST", "https://example.com"+tt.path, "text/plain", tt.body, nil)
		if want := "no exchange for POST https://example.com" + tt.path; !strings.Contains(text, want) || len(g.missed) != 1 {
			t.Errorf("%s again: %q, missed %q", tt.path, text, g.missed)
		}
	}
}

// TestWriter replaces secrets that are written in pieces, plain and in base64.
func TestWriter(t *testing.T) {
	s := parsed(t, "API_KEY=example.com")
	for shift := range 3 {
		prefix := strings.Repeat("u", shift)
		text := "x " + value + " y " + base64.StdEncoding.EncodeToString([]byte(prefix+value)) + " z " + value[:5]
		var out bytes.Buffer
		w, end := s.Writer(&out)
		if _, err := io.Copy(struct{ io.Writer }{w}, iotest.OneByteReader(strings.NewReader(text))); err != nil {
			t.Fatal(err)
		}
		end()
		got := out.String()
		if strings.Contains(got, value) || strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(prefix + value))[4:20]) ||
			!strings.HasSuffix(got, " z "+value[:5]) || strings.Count(got, "coderunner-secret-API_KEY") != 2 {
			t.Errorf("shift %d: %q", shift, got)
		}
	}
}

func TestParseSecrets(t *testing.T) {
	for _, bad := range []string{"", "A", "A=", "=h", "A=h:x", "A=*.h", "A=10.0.0.0/8", "A-B=h", "A=h,", "A=h:0", "A=h+bodies", "A=+body", "SHORT=h", "NONE=h"} {
		_, err := ParseSecrets(bad, func(name string) (string, bool) {
			return map[string]string{"A": value, "A-B": value, "SHORT": "abc"}[name], true
		})
		if err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestBadRecordings has recordings that nothing could be answered from be refused when they are
// read, with the reason.
func TestBadRecordings(t *testing.T) {
	const entry = `{"log":{"version":"1.2","entries":[{"request":{"method":"GET","url":"http://a/"},"response":{"status":%d,"content":{"text":%q,"encoding":"base64"}}}]}}`
	for text, want := range map[string]string{
		fmt.Sprintf(entry, 200, "eA=="):              "",
		fmt.Sprintf(entry, 0, ""):                    "", // there was no answer
		fmt.Sprintf(entry, -5, "eA=="):               "the status of http://a/ is -5",
		fmt.Sprintf(entry, 100000, "eA=="):           "100000",
		fmt.Sprintf(entry, 200, "!"):                 "the answer of http://a/: illegal base64",
		`{"log":{"version":"1.2","entries":[null]}}`: "null",
		`{"log":null}`:                               "not a HAR file",
		strings.Repeat("[", 100_000):                 "max depth",
		"":                                           "unexpected end",
	} {
		_, err := parseRecording([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
	}
	name := filepath.Join(t.TempDir(), "long.har")
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, maxFile+1)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{name: "too long", os.DevNull: "not a regular file", t.TempDir(): "not a regular file", name + "x": "read the recording"} {
		if err := (&Interceptor{}).Replay(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func FuzzParseRecording(f *testing.F) {
	f.Add([]byte(`{"log":{"version":"1.2","entries":[{"request":{"method":"GET","url":"http://a/"},"response":{"status":200,"content":{"text":"eA==","encoding":"base64"}}}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecording(b)
		if err != nil {
			return
		}
		for _, e := range r.file.Log.Entries {
			if resp, err := e.response(&http.Request{Method: "GET"}); err == nil {
				_ = resp.Write(io.Discard)
			}
		}
	})
}
