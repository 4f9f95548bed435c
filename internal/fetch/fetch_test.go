package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coderunner/cache"
)

var payload = bytes.Repeat([]byte("0123456789abcdef"), 4096)

// serve starts a server and gives its URL and a count of its requests.
func serve(t *testing.T, h http.HandlerFunc) (base string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// hijack takes the connection to send what no well-behaved server would.
func hijack(t *testing.T, w http.ResponseWriter, text string, reset bool) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	buf.WriteString(text)
	buf.Flush()
	if reset {
		conn.(*net.TCPConn).SetLinger(0)
	}
	conn.Close()
}

// Every fault ends in a clear error, after the right number of requests, and
// with nothing in the cache.
func TestBlobFaults(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	header := "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
	faults := []struct {
		name     string
		handler  http.HandlerFunc
		requests int32
		texts    []string
	}{
		{"wrong hash", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "something else") }, 1,
			[]string{"14 bytes with sha256:", "want " + sha256Of(payload).String()}},
		{"web page", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!DOCTYPE html><html>log in") }, 1,
			[]string{"the answer is a web page"}},
		{"truncated", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(payload)))
			w.Write(payload[:1000])
		}, 4, []string{"unexpected EOF", "after 4 attempts"}},
		{"announces less", func(w http.ResponseWriter, _ *http.Request) {
			hijack(t, w, fmt.Sprintf(header, 10, payload), false)
		}, 1, []string{"10 bytes with"}},
		{"reset", func(w http.ResponseWriter, _ *http.Request) {
			hijack(t, w, fmt.Sprintf(header, len(payload), "some"), true)
		}, 4, []string{"after 4 attempts"}},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) { hijack(t, w, "SSH-2.0-x\r\n", false) }, 4, []string{"malformed HTTP"}},
		{"404", status(404), 1, []string{"404 Not Found"}},
		{"403", status(403), 1, []string{"403 Forbidden"}},
		{"429", status(429), 4, []string{"429 Too Many Requests", "after 4 attempts"}},
		{"503", status(503), 4, []string{"503 Service Unavailable"}},
		{"799", status(799), 4, []string{"799"}},
		{"304 unasked", status(304), 1, []string{"304"}},
		{"too large, announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999999")
			w.Write(payload)
		}, 1, []string{"more than the allowed 100000 bytes"}},
		{"too large, unannounced", func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				w.Write(payload)
				w.(http.Flusher).Flush()
			}
		}, 1, []string{"more than the allowed 100000 bytes"}},
		{"redirect loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) }, 10, []string{"more than 10 redirects"}},
		{"redirect to a file", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, 1,
			[]string{"refused: neither http nor https"}},
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			base, requests := serve(t, f.handler)
			c := open(t, t.TempDir(), Options{})
			u := strings.Replace(base, "http://", "http://user:hunter2@", 1) + "/thing-1.0.whl?token=hunter2#hunter2"
			src := Source{URL: u, Digest: sha256Of(payload), MaxSize: 100_000, Name: "thing 1.0"}
			_, _, err := c.Blob(context.Background(), src, nil)
			wantError(t, err, append(f.texts, "thing 1.0")...)
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells secrets: %v", err)
			}
			if n := requests.Load(); n != f.requests {
				t.Errorf("%d requests, want %d: %v", n, f.requests, err)
			}
			wantNothing(t, c)
		})
	}
}

func TestBlobRecovers(t *testing.T) {
	var n atomic.Int32
	base, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) {
		case 1:
			w.WriteHeader(500)
		case 2:
			w.Header().Set("Retry-After", "86400") // more than we are willing to wait
			w.WriteHeader(429)
		case 3:
			hijack(t, w, "HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\nhalf", true)
		default:
			if got := r.Header.Get("User-Agent"); got != "coderunner" {
				t.Errorf("User-Agent %q", got)
			}
			w.Write(payload)
		}
	})
	root := t.TempDir()
	c := open(t, root, Options{})
	src := Source{URL: base + "/blob", Digest: sha256Of(payload)}
	var done, total int64
	path, cached, err := c.Blob(context.Background(), src, func(d, n int64) { done, total = d, n })
	if err != nil || cached {
		t.Fatalf("Blob: cached %v, %v", cached, err)
	}
	if got, err := os.ReadFile(path); !bytes.Equal(got, payload) || err != nil {
		t.Errorf("blob: %d bytes, %v", len(got), err)
	}
	if want := int64(len(payload)); done != want || total != want && total != -1 {
		t.Errorf("progress ended at %d of %d, want %d", done, total, want)
	}
	wantNoTemps(t, c)

	// Warm, it needs no network, and damage is noticed.
	again, cached, err := open(t, root, Options{Offline: true}).Blob(context.Background(), src, nil)
	if again != path || !cached || err != nil {
		t.Errorf("Blob again = %q, %v, %v", again, cached, err)
	}
	check(t, os.Chmod(path, 0o600))
	check(t, os.WriteFile(path, payload[1:], 0o600))
	_, _, err = open(t, root, Options{Offline: true}).Blob(context.Background(), src, nil)
	if !errors.Is(err, ErrOffline) {
		t.Errorf("damaged and offline: %v", err)
	}
	_, cached, err = c.Blob(context.Background(), src, nil)
	if cached || err != nil {
		t.Errorf("damaged: cached %v, %v; want it fetched", cached, err)
	}
}

func TestSourcesThatCannotBeVerified(t *testing.T) {
	c := open(t, t.TempDir(), Options{})
	good := sha256Of(payload)
	for _, src := range []Source{
		{URL: "https://example.test/x"},
		{URL: "https://example.test/x", Digest: cache.Digest{Algorithm: "md5", Hex: "00"}},
		{URL: "https://example.test/x", Digest: cache.SHA256("../../../../etc/passwd")},
		{URL: "https://example.test/x", Digest: cache.SHA256("")},
		{URL: "ftp://example.test/x", Digest: good},
		{URL: "https:///x", Digest: good},
		{URL: "file://host/x", Digest: good},
		{URL: "relative", Digest: good},
		{URL: "https://user:pa%zz@example.test", Digest: good},
		{URL: "", Digest: good},
		{URL: "https://example.test/x", Digest: good, MaxSize: -1},
	} {
		_, _, err := c.Blob(context.Background(), src, nil)
		if err == nil || strings.Contains(err.Error(), "zz") {
			t.Errorf("Blob(%+v): %v", src, err)
		}
	}
	wantNothing(t, c)
}

func TestOfflineNamesWhatIsMissing(t *testing.T) {
	base, requests := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := open(t, t.TempDir(), Options{Offline: true})
	ctx := context.Background()
	_, _, berr := c.Blob(ctx, Source{URL: base, Digest: sha256Of(payload), Name: "thing 1.0"}, nil)
	_, nerr := c.NPM(ctx, NPMPackage{Registry: base, Name: "thing", Version: "1.0.0", Integrity: integrityOf(payload)}, nil)
	_, gerr := c.Get(ctx, base+"/thing/", nil, 100)
	for _, err := range []error{berr, nerr, gerr} {
		if !errors.Is(err, ErrOffline) || !strings.Contains(err.Error(), "thing") {
			t.Errorf("offline: %v", err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests while offline", n)
	}
	wantNothing(t, c)
}

// A server that stops sending is given up, one that only dribbles too.
func TestStall(t *testing.T) {
	for _, dribble := range []bool{false, true} {
		t.Run(fmt.Sprint("dribble=", dribble), func(t *testing.T) {
			base, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(payload)))
				w.Write(payload[:100])
				w.(http.Flusher).Flush()
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-r.Context().Done():
						return
					case <-tick.C:
						if dribble {
							w.Write(payload[:1])
							w.(http.Flusher).Flush()
						}
					}
				}
			})
			c := open(t, t.TempDir(), Options{})
			c.stall = 50 * time.Millisecond
			_, _, err := c.Blob(context.Background(), Source{URL: base + "/x", Digest: sha256Of(payload)}, nil)
			wantError(t, err, "the transfer stalled")
			if n := requests.Load(); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
			wantNothing(t, c)
		})
	}
}

// Cancelling closes the connection at once, whatever the server does.
func TestCancelClosesConnection(t *testing.T) {
	for _, phase := range []string{"before the header", "in the body"} {
		t.Run(phase, func(t *testing.T) {
			arrived, closed := make(chan struct{}), make(chan struct{})
			base, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if phase == "in the body" {
					w.Write(payload[:100])
					w.(http.Flusher).Flush()
				}
				close(arrived)
				<-r.Context().Done()
				close(closed)
			})
			c := open(t, t.TempDir(), Options{})
			ctx, cancel := context.WithCancelCause(context.Background())
			gone := errors.New("the client is gone")
			go func() { <-arrived; cancel(gone) }()
			_, _, err := c.Blob(ctx, Source{URL: base + "/x", Digest: sha256Of(payload)}, nil)
			if !errors.Is(err, gone) || !errors.Is(err, context.Canceled) {
				t.Errorf("Blob: %v, want it cancelled: %v", err, gone)
			}
			<-closed
			wantNothing(t, c)
		})
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	addr := l.Addr().String()
	l.Close()
	c := open(t, t.TempDir(), Options{})
	_, err = c.Get(context.Background(), "http://user:hunter2@"+addr+"/simple/?q=hunter2", nil, 100)
	wantError(t, err, "http://"+addr+"/simple/", "connection refused", "after 2 attempts", "is there a network?")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error tells secrets: %v", err)
	}
}

// A name that does not exist is asked for once, one that the name server knows nothing of twice.
func TestNoSuchHost(t *testing.T) {
	for temporary, want := range map[bool]int{false: 1, true: 2} {
		asked := 0
		c := open(t, t.TempDir(), Options{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			asked++
			return nil, &net.DNSError{Err: "no such host", IsNotFound: !temporary, IsTemporary: temporary}
		}}})
		_, err := c.Get(context.Background(), "http://nowhere.invalid/", nil, 100)
		if wantError(t, err, "no such host", "is there a network?"); asked != want {
			t.Errorf("%d attempts of a name whose lookup failed (temporarily: %v), want %d", asked, temporary, want)
		}
	}
}

// Many who want one blob cause one download.
func TestBlobIsFetchedOnce(t *testing.T) {
	base, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(payload) })
	root := t.TempDir()
	src := Source{URL: base + "/blob", Digest: sha256Of(payload)}
	done := make(chan error)
	for range 8 {
		c := open(t, root, Options{})
		go func() {
			_, _, err := c.Blob(context.Background(), src, nil)
			done <- err
		}()
	}
	for range 8 {
		check(t, <-done)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// A time-out of the network is not the end of the caller's context.
func TestTimeoutIsNotCancelled(t *testing.T) {
	base, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := open(t, t.TempDir(), Options{Transport: &http.Transport{ResponseHeaderTimeout: 20 * time.Millisecond}})
	ctx := context.Background()
	_, gerr := c.Get(ctx, base+"/x", nil, 100)
	_, _, berr := c.Blob(ctx, Source{URL: base + "/x", Digest: sha256Of(payload)}, nil)
	c = open(t, t.TempDir(), Options{})
	c.getTimeout = 20 * time.Millisecond
	_, lerr := c.Get(ctx, base+"/x", nil, 100)
	for name, err := range map[string]error{"Get": gerr, "Blob": berr, "Get within its own limit": lerr} {
		if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want an error that is not a context's", name, err)
		}
	}
	wantError(t, lerr, "no answer within 20ms", "hint:")
	limited, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := c.Get(limited, base+"/x", nil, 100); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past the caller's deadline: %v", err)
	}
}

// A password in a redirect that cannot be parsed is not in the error that net/http
// makes of it.
func TestPasswordsStaySecret(t *testing.T) {
	for _, location := range []string{"http://user:hunter2%zz@127.0.0.1/?token=hunter2", "http://user:hun/ter2@hunter2/"} {
		base, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		})
		_, err := open(t, t.TempDir(), Options{}).Get(context.Background(), base+"/x", nil, 100)
		if err == nil || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s: %v", location, err)
		}
	}
}
