package fetch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a server of names whose addresses change from question to question,
// as those of somebody who wants into the user's network do.
type nameServer struct {
	mu      sync.Mutex
	answers map[string][]string // the last one stays
}

// resolver asks the server of names.
func (n *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe() // a stream, so messages have their length in front
		go n.serve(theirs)
		return ours, nil
	}}
}

func (n *nameServer) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		msg := make([]byte, int(length[0])<<8|int(length[1]))
		if _, err := io.ReadFull(conn, msg); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(msg) != nil || len(m.Questions) != 1 {
			return
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			if a, ok := n.next(strings.TrimSuffix(q.Name.String(), ".")); ok {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: a.As4()},
				}}
			}
		}
		out, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...)); err != nil {
			return
		}
	}
}

func (n *nameServer) next(name string) (netip.Addr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[name]
	if len(list) == 0 {
		return netip.Addr{}, false
	}
	if len(list) > 1 {
		n.answers[name] = list[1:]
	}
	return netip.MustParseAddr(list[0]), true
}

// rebinding is a Client that finds names by n.
func rebinding(t *testing.T, n *nameServer) *Client {
	t.Helper()
	c := open(t, t.TempDir(), Options{})
	r := n.resolver()
	c.client.Transport = newGuard(func(control dialControl) *http.Transport {
		tr := defaultTransport(control)
		tr.Proxy = nil
		tr.DialContext = (&net.Dialer{Resolver: r, Control: control}).DialContext
		return tr
	})
	c.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) { return r.LookupNetIP(ctx, "ip4", host) }
	return c
}

// A name that is public when it is looked up and private when it is dialled
// leads nowhere, in a redirect as in a link.
func TestRebinding(t *testing.T) {
	const public, private = "203.0.113.5", "127.0.0.1"
	base, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		w.Write(payload)
	})
	u, err := url.Parse(base)
	check(t, err)
	at := func(host string) string { return "http://" + host + ":" + u.Port() + "/x" }
	ctx := context.Background()

	// The registry is dialled, then looked up; the other the other way round.
	n := &nameServer{answers: map[string][]string{"registry.test": {private, public}, "evil.test": {public, private}}}
	_, err = rebinding(t, n).Get(ctx, at("registry.test")+"?to="+url.QueryEscape(at("evil.test")), nil, 1<<20)
	wantError(t, err, "connection to 127.0.0.1:"+u.Port()+" refused")

	blob := func(c *Client, from, to string) error {
		_, _, err := c.Blob(ctx, Source{URL: to, From: from, Digest: sha256Of(payload)}, nil)
		return err
	}
	n = &nameServer{answers: map[string][]string{"registry.test": {public}, "evil.test": {public, private}, "here.test": {private}}}
	wantError(t, blob(rebinding(t, n), at("registry.test"), at("evil.test")), "connection to 127.0.0.1:"+u.Port()+" refused")
	wantError(t, blob(rebinding(t, n), at("registry.test"), at("here.test")), "link from http://registry.test:"+u.Port()+"/x to", "the address is private")
	wantError(t, blob(rebinding(t, n), at("registry.test"), base+"/x"), "the address is private")
	wantError(t, blob(rebinding(t, n), at("registry.test"), "file:///etc/passwd"), "it is a file of this machine")
	// The user's own registry, and what the user names, may be private.
	for from, to := range map[string]string{at("here.test"): base + "/x", "": base + "/x", base + "/": at("here.test"), "file:///srv/index/": base + "/x"} {
		if err := blob(rebinding(t, n), from, to); err != nil {
			t.Errorf("from %s: %v", from, err)
		}
	}
	name := t.TempDir() + "/file"
	check(t, os.WriteFile(name, payload, 0o600))
	if err := blob(rebinding(t, n), "file:///srv/index/", "file://"+name); err != nil {
		t.Error(err)
	}
}

// Through a proxy the proxy dials, wherever it is itself.
func TestGuardWithProxy(t *testing.T) {
	proxy, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(payload) })
	via, err := url.Parse(proxy)
	check(t, err)
	c := open(t, t.TempDir(), Options{})
	c.client.Transport = newGuard(func(control dialControl) *http.Transport {
		tr := defaultTransport(control)
		tr.Proxy = http.ProxyURL(via)
		return tr
	})
	c.lookup = func(context.Context, string) ([]netip.Addr, error) { return nil, fmt.Errorf("only the proxy knows") }
	_, _, err = c.Blob(context.Background(), Source{URL: "http://files.test/x", From: "http://registry.test/", Digest: sha256Of(payload)}, nil)
	if err != nil || requests.Load() != 1 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
}

func TestRefusePrivate(t *testing.T) {
	var none syscall.RawConn
	for address, refused := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "10.0.0.1:443": true, "169.254.169.254:80": true, "[fe80::1%eth0]:80": true, "0.0.0.0:80": true,
		"[::ffff:127.0.0.1]:80": true, "100.64.0.1:80": true, "nonsense": true, "203.0.113.5:443": false, "[2001:db8::1]:443": false,
	} {
		if err := refusePrivate("tcp", address, none); (err != nil) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
}
