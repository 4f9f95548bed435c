package intercept

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"
)

// TestPlaceholdersAreOwn gives each program placeholders that nobody else has, and those
// of an earlier program of its session where it names them.
func TestPlaceholdersAreOwn(t *testing.T) {
	s := parsed(t, "API_KEY=example.com+body,API_KEY_2=example.com")
	i, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer i.end()
	seen := map[string]bool{}
	for range 100 {
		for name, p := range i.Begin(nil).Environment() {
			if seen[p] || !strings.HasPrefix(p, "coderunner-secret-"+name+"-") || len(p) < len("coderunner-secret-"+name+"-")+26 {
				t.Fatalf("%s has %q", name, p)
			}
			seen[p] = true
		}
	}
	was := i.Begin(nil).Environment()
	if again := i.Begin(was).Environment(); again["API_KEY"] != was["API_KEY"] || again["API_KEY_2"] != was["API_KEY_2"] {
		t.Errorf("a session's next program has %v, the one before %v", again, was)
	}
	// What a session's files claim is none: short, or another's.
	for _, bad := range []string{"a", "e", "coderunner-secret-API_KEY-0", was["API_KEY_2"]} {
		if got := i.Begin(map[string]string{"API_KEY": bad}).Environment()["API_KEY"]; got == bad {
			t.Errorf("%q is taken over", bad)
		}
	}

	// Another program's placeholder is text like any other.
	f := start(t, s)
	f.do(t, "POST", "https://example.com/p", "text/plain", was["API_KEY"], func(r *http.Request) { r.Header.Set("X-Key", was["API_KEY"]) })
	if len(f.seen) != 1 || strings.Contains(f.seen[0], value) {
		t.Errorf("with a placeholder of another program the host got %q", f.seen)
	}
}

// TestTrailer has a host repeat the secret behind the body, under a name that it announced
// and one that it did not.
func TestTrailer(t *testing.T) {
	f := start(t, parsed(t, "API_KEY=example.com"))
	key := f.i.Environment()["API_KEY"]
	req, err := http.NewRequest("GET", "https://example.com/trailer", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Key", key)
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "text" {
		t.Errorf("%q, %v", body, err)
	}
	if got := fmt.Sprint(resp.Trailer); strings.Contains(got, value) || resp.Trailer.Get("X-Sum") != key {
		t.Errorf("the trailer is %s", got)
	}
}

// upgrade asks the host to change the protocol, with the secret in the request, and
// returns what the host sends behind the answer's header.
func (f *fixture) upgrade(t *testing.T, to string) io.Reader {
	t.Helper()
	req, err := http.NewRequest("GET", "https://example.com/upgrade", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"X-Key": {f.i.Environment()["API_KEY"]}, "Connection": {"Upgrade"}, "Upgrade": {to}, "Sec-Websocket-Extensions": {"permessage-deflate"}}
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the answer is %s", resp.Status)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp.Body
}

// TestUpgraded has a host repeat the secret after the protocol was changed: as bytes, in
// one frame of a WebSocket, in two, around a ping, and in a close frame.
func TestUpgraded(t *testing.T) {
	f := start(t, parsed(t, "API_KEY=example.com"))
	key := f.i.Environment()["API_KEY"]

	r := f.upgrade(t, "other")
	got, err := io.ReadAll(r)
	if want := "a " + key + " b"; err != nil || string(got) != want {
		t.Errorf("another protocol: %q, %v, want %q", got, err, want)
	}

	r = f.upgrade(t, "websocket")
	var all []string
	for {
		frame, err := ws.ReadFrame(r)
		if err != nil {
			break
		}
		all = append(all, fmt.Sprintf("%d %v %s", frame.Header.OpCode, frame.Header.Fin, frame.Payload))
	}
	want := []string{"1 true one " + key, "9 true " + key, "1 true two " + key, "2 true " + strings.Repeat("x", 70_000) + key, "8 true \x03\xe8" + key}
	if fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("frames %.300q, want %.300q", all, want)
	}
	if !strings.Contains(strings.Join(f.seen, " "), "extensions []") {
		t.Errorf("the host was offered %q", f.seen)
	}
}

// upgraded is the host's half of TestUpgraded.
func upgraded(w http.ResponseWriter, req *http.Request) {
	secret := req.Header.Get("X-Key")
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", req.Header.Get("Upgrade"))
	if req.Header.Get("Upgrade") != "websocket" {
		fmt.Fprintf(c, "a %s b", secret)
		return
	}
	half := len(secret) / 2
	for _, frame := range []ws.Frame{
		ws.NewTextFrame([]byte("one " + secret)),
		ws.NewFrame(ws.OpText, false, []byte("two "+secret[:half])),
		ws.NewPingFrame([]byte(secret)),
		ws.NewFrame(ws.OpContinuation, true, []byte(secret[half:])),
		ws.MaskFrame(ws.NewBinaryFrame([]byte(strings.Repeat("x", 70_000) + secret))),
		ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusNormalClosure, secret)),
	} {
		if err := ws.WriteFrame(c, frame); err != nil {
			return
		}
	}
}

// TestHostileFrames ends connections whose frames are none, or too long, without waiting
// for what they announce.
func TestHostileFrames(t *testing.T) {
	s := parsed(t, "API_KEY=example.com").begin(nil)
	header := func(h ws.Header) []byte {
		var b bytes.Buffer
		if err := ws.WriteHeader(&b, h); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, b := range map[string][]byte{
		"nothing":           nil,
		"half a header":     {0x81},
		"too long":          header(ws.Header{OpCode: ws.OpText, Fin: true, Length: maxMessage + 1}),
		"a negative length": {0x81, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"a long ping":       header(ws.Header{OpCode: ws.OpPing, Fin: true, Length: 126}),
		"cut off":           append(header(ws.Header{OpCode: ws.OpText, Fin: true, Length: 100}), "abc"...),
	} {
		var out bytes.Buffer
		if err := s.redactMessages(&out, bytes.NewReader(b)); err == nil || out.Len() > 0 {
			t.Errorf("%s: %q, %v", name, out.Bytes(), err)
		}
	}
}

// TestNoOracle writes texts that end in right and in wrong guesses of the secret, and
// looks when they arrive: the time must not tell which is right.
func TestNoOracle(t *testing.T) {
	arrivals := func(text string) (seen string) {
		synctest.Test(t, func(t *testing.T) {
			s := parsed(t, "API_KEY=example.com").begin(nil)
			begun := time.Now()
			out, in := net.Pipe()
			r := s.reader(out, func() {})
			done := make(chan struct{})
			go func() {
				defer close(done)
				b := make([]byte, 4096)
				for {
					n, err := r.Read(b)
					if err != nil {
						return
					}
					seen += fmt.Sprint(n, " bytes after ", time.Since(begun), "; ")
				}
			}()
			for range 3 {
				_, _ = io.WriteString(in, text)
				synctest.Wait()
				time.Sleep(10 * time.Second)
			}
			in.Close()
			<-done
			r.Close()
		})
		return seen
	}
	for n := 1; n < len(value); n++ {
		right, wrong := strings.Repeat(".", 100)+value[:n], strings.Repeat(".", 100)+value[:n-1]+"?"
		if a, b := arrivals(right), arrivals(wrong); a != b || a == "" {
			t.Fatalf("%d bytes of the secret arrive as %q, others as %q", n, a, b)
		}
	}
}

// TestReaderEnds has a program go away while a host goes on: nothing is left running.
func TestReaderEnds(t *testing.T) {
	s := parsed(t, "API_KEY=example.com").begin(nil)
	host, body := io.Pipe()
	r := s.reader(host, func() {})
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for {
			if _, err := body.Write(make([]byte, 1000)); err != nil {
				return
			}
		}
	}()
	if _, err := r.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	<-wrote
}
