package netpolicy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parsed parses "--allow-net[=list] --deny-net[=list]".
func parsed(t *testing.T, flags string) *Policy {
	t.Helper()
	p, err := parseFlags(flags)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func parseFlags(flags string) (Policy, error) {
	var all [2]bool
	var lists [2][]string
	for _, f := range strings.Fields(flags) {
		name, list, has := strings.Cut(f, "=")
		i := 0
		if name == "--deny-net" {
			i = 1
		}
		if all[i] = !has; has {
			lists[i] = strings.Split(list, ",")
		}
	}
	return Parse(all[0], lists[0], all[1], lists[1])
}

// TestParse has what Deno 2.9 takes and refuses.
func TestParse(t *testing.T) {
	for _, bad := range []string{
		"*", "a.*.com", "**.com", "[fd00::]/8", "fd00::/8", "[fd00::/8]", "::1", "example.com:99999", "https://example.com",
		"bücher.de", "::ffff:1.2.3.4", "a:80-90", "a:https", "", "10.0.0.0/33", "10.0.0.0/", "[1.2.3.4]", "[::1", "[::1]80", ":", "vsock:1:80", "unix:/x",
	} {
		if _, err := Parse(false, []string{bad}, false, nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{
		"*.example.com:443", "10.0.0.0/8", "10.0.0.0/8:80", "[::1]:80", "[::1]", ":8080", "EXAMPLE.com.", "a_b.com", "xn--bcher-kva.de", "127.1",
		"[::ffff:1.2.3.4]", "[fe80::1%eth0]", "*.localhost:80", "example.com:0",
	} {
		if _, err := Parse(false, []string{good}, false, nil); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		flags, name string
		port        uint16
		want        bool
	}{
		{"--allow-net=*.example.com", "example.com", 1, true},
		{"--allow-net=*.example.com", "a.b.Example.com.", 1, true},
		{"--allow-net=*.example.com", "xexample.com", 1, false},
		{"--allow-net=example.com:443", "example.com", 80, false},
		{"--allow-net=example.com:443", "example.com", 0, true}, // it may be looked up
		{"--allow-net --deny-net=example.com:80", "example.com", 80, false},
		{"--allow-net --deny-net=example.com:80", "example.com", 0, true},
		{"--allow-net --deny-net=*.example.com", "a.example.com", 0, false},
		{"--allow-net=example.com --deny-net", "example.com", 0, false},
		{"", "example.com", 0, false},
	} {
		if got := parsed(t, tt.flags).AllowsName(tt.name, tt.port); got != tt.want {
			t.Errorf("%s: AllowsName(%q, %d) = %v, want %v", tt.flags, tt.name, tt.port, got, tt.want)
		}
	}
}

// TestAddresses dials every form of addresses that are not outside.
func TestAddresses(t *testing.T) {
	inside := []string{
		"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.1.2", "10.0.0.5", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "192.0.0.192",
		"168.63.129.16", "224.0.0.1", "255.255.255.255", "198.18.0.1", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:a00:5", "::ffff:0:7f00:1",
		"64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:7f00:1::", "2001:0:a9fe::1", "fd00:ec2::254", "fe80::1", "fe80::1%lo", "fec0::1", "ff02::1",
	}
	for _, text := range inside {
		addr := netip.MustParseAddr(text)
		if got := parsed(t, "--allow-net").checkAddr([]string{"any.example.com"}, addr, 80); got != special {
			t.Errorf("%s under --allow-net: %v, want %v", text, got, special)
		}
		if got := parsed(t, "--allow-net=example.com").checkAddr([]string{"example.com"}, addr, 80); got != special {
			t.Errorf("%s as the address of an allowed name: %v, want %v", text, got, special)
		}
		named := addr.Unmap().WithZone("").String()
		if strings.Contains(named, ":") {
			named = "[" + named + "]"
		}
		if got := parsed(t, "--allow-net="+named).checkAddr(nil, addr, 80); got != allowed {
			t.Errorf("%s, which is named: %v", text, got)
		}
	}
	for _, tt := range []struct {
		flags, names, addr string
		want               why
	}{
		{"--allow-net", "", "8.8.8.8", allowed},
		{"--allow-net", "", "64:ff9b::808:808", allowed},
		{"--allow-net", "", "2606:4700::1111", allowed},
		{"--allow-net=a.com", "a.com", "8.8.8.8", allowed},
		{"--allow-net=a.com:81", "a.com", "8.8.8.8", notListed},
		{"--allow-net=a.com", "b.com", "8.8.8.8", notListed},
		{"--allow-net=a.com", "", "8.8.8.8", notListed},
		{"--allow-net=8.8.0.0/16", "", "8.8.8.8", allowed},
		{"--allow-net=10.0.0.0/8,a.com", "a.com", "10.1.1.1", allowed},
		{"--allow-net=10.0.0.0/8:81", "", "10.1.1.1", special},
		{"--allow-net --deny-net=8.8.8.0/24", "", "::ffff:8.8.8.8", denied},
		{"--allow-net --deny-net=8.8.8.8", "", "64:ff9b::808:808", denied},
		{"--allow-net --deny-net=8.8.8.8", "", "2002:808:808::1", denied},
		{"--allow-net=0.0.0.0,127.0.0.1 --deny-net=127.0.0.1", "", "0.0.0.0", denied},
		{"--allow-net=[::] --deny-net=[::1]", "", "::", denied},
		{"--allow-net=localhost", "localhost", "127.0.0.1", allowed},
		{"--allow-net=localhost", "localhost", "::1", allowed},
		{"--allow-net=localhost", "", "127.0.0.1", allowed},
		{"--allow-net=localhost:81,a.com", "a.com", "127.0.0.1", special},
		{"--allow-net=:80", "", "127.0.0.1", allowed},
		{"--allow-net=:81", "", "127.0.0.1", special},
	} {
		if got := parsed(t, tt.flags).checkAddr(strings.Fields(tt.names), netip.MustParseAddr(tt.addr), 80); got != tt.want {
			t.Errorf("%s: %s (%s): %v, want %v", tt.flags, tt.addr, tt.names, got, tt.want)
		}
	}
}

// TestRebinding has a name whose address changes, and one of another name.
func TestRebinding(t *testing.T) {
	answers := []string{"8.8.8.8", "127.0.0.1"}
	r := parsed(t, "--allow-net=a.com,8.8.4.4:53").NewRun(Options{LookupIP: func(context.Context, string) ([]netip.Addr, error) {
		answer := answers[0]
		answers = answers[1:]
		return []netip.Addr{netip.MustParseAddr(answer)}, nil
	}})
	check := func(addr string, wantHost string) {
		t.Helper()
		target, err := r.Check("tcp", "a.com", netip.MustParseAddrPort(addr))
		if target.Host != wantHost {
			t.Errorf("%s: host %q, error %v, want %q", addr, target.Host, err, wantHost)
		}
	}
	check("8.8.8.8:443", "") // not looked up yet
	if _, err := r.Lookup(t.Context(), "a.com"); err != nil {
		t.Fatal(err)
	}
	check("8.8.8.8:443", "a.com")
	check("127.0.0.1:443", "")
	if _, err := r.Lookup(t.Context(), "A.com."); err != nil {
		t.Fatal(err)
	}
	check("127.0.0.1:443", "")
	check("8.8.4.4:53", "8.8.4.4")
	for _, name := range []string{"b.com", "secret.b.com", "a.com.b.com"} {
		var refused *Refused
		if _, err := r.Lookup(t.Context(), name); !errors.As(err, &refused) || refused.Flag() != "--allow-net="+name {
			t.Errorf("Lookup(%q): %v", name, err)
		}
	}
	if _, err := r.Lookup(t.Context(), "a.com\x00.evil"); err == nil {
		t.Error("a name with a NUL is looked up")
	}
}

// TestDial counts bytes, reaches the run's own listener, and refuses others.
func TestDial(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer server.Close()
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	r := parsed(t, "--allow-net=localhost:"+server.URL[strings.LastIndex(server.URL, ":")+1:]).NewRun(Options{})
	var refused *Refused
	other := netip.AddrPortFrom(at.Addr(), at.Port()^1)
	if _, err := r.Dial(t.Context(), "tcp", "localhost", other); !errors.As(err, &refused) || refused.Flag() != "--allow-net="+other.String() {
		t.Errorf("Dial to another port: %v", err)
	}
	if _, err := r.Lookup(t.Context(), "localhost"); err != nil {
		t.Fatal(err)
	}
	c, err := r.Dial(t.Context(), "tcp", "localhost", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	request := "GET / HTTP/1.0\r\n\r\n"
	_, _ = io.WriteString(c, request)
	answer, _ := io.ReadAll(c)
	contacts, more := r.Contacts()
	if len(contacts) != 2 || more != 0 || contacts[0].Refused == "" || contacts[1].Host != "localhost" ||
		contacts[1].Sent != int64(len(request)) || contacts[1].Received != int64(len(answer)) {
		t.Errorf("contacts: %+v, %d more; %d bytes received", contacts, more, len(answer))
	}
}

// TestAvoided records what a runtime refuses by itself, and takes its word for
// nothing else.
func TestAvoided(t *testing.T) {
	r := parsed(t, "--allow-net=a.com --deny-net=c.com").NewRun(Options{})
	for _, to := range []string{"10.0.0.1:80", "[::1]:81", "B.com:443", "c.com", "a.com:80", "unix:/x y", "B.com:443", ""} {
		r.Avoided(to)
	}
	contacts, _ := r.Contacts()
	var got []string
	for _, c := range contacts {
		got = append(got, fmt.Sprint(c.Host, " ", c.Port, " ", c.Count, " ", c.Flag))
	}
	want := []string{"10.0.0.1 80 1 --allow-net=10.0.0.1:80", "::1 81 1 --allow-net=[::1]:81", "b.com 443 2 --allow-net=b.com:443", "c.com 0 1 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestListen has a run reach what it listens on, and nobody else's.
func TestListen(t *testing.T) {
	r := parsed(t, "--allow-net").NewRun(Options{})
	l, err := r.Listen(t.Context(), "tcp", netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(l.Addr().String())
	if _, err := r.Check("tcp", "", at); err != nil {
		t.Error(err)
	}
	other := r.Listening("udp6", netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port()), nil)
	for _, c := range []struct {
		network, ip string
		port        uint16
		allowed     bool
	}{
		{"tcp", "0.0.0.0", at.Port(), true},
		{"tcp", "::ffff:127.0.0.1", at.Port(), true},
		{"tcp", "127.0.0.1", at.Port() + 1, false},
		{"tcp", "127.0.0.2", at.Port(), false},
		{"tcp", "::1", at.Port(), false},
		{"udp", "127.0.0.1", at.Port(), false},
		{"udp", "::1", at.Port(), true},
		{"udp", "::", at.Port(), true},
	} {
		if _, err := r.Check(c.network, "", netip.AddrPortFrom(netip.MustParseAddr(c.ip), c.port)); (err == nil) != c.allowed {
			t.Errorf("%s to %s, port +%d: %v", c.network, c.ip, c.port-at.Port(), err)
		}
	}
	other()
	l.Close()
	if _, err := r.Check("tcp", "", at); err == nil {
		t.Error("it is allowed after the listener's end")
	}
	if _, err := parsed(t, "--allow-net=a.com").NewRun(Options{}).Listen(t.Context(), "tcp", netip.MustParseAddrPort("127.0.0.1:0")); err == nil {
		t.Error("a policy without the loopback lets listen there")
	}
}

// TestProxy has names looked up by the proxy alone.
func TestProxy(t *testing.T) {
	var asked []string
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "through") }))
	defer target.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if asked = append(asked, req.Host); req.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		out, err := net.Dial("tcp", target.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer out.Close()
		w.WriteHeader(http.StatusOK)
		in, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer in.Close()
		go func() { _, _ = io.Copy(out, in) }()
		_, _ = io.Copy(in, out)
	}))
	defer proxy.Close()
	at, _ := url.Parse(strings.Replace(proxy.URL, "http://", "http://user:word@", 1))
	r := parsed(t, "--allow-net=a.example.com:443").NewRun(Options{
		Proxy:    func(*url.URL) (*url.URL, error) { return at, nil },
		LookupIP: func(context.Context, string) ([]netip.Addr, error) { t.Error("a name is looked up"); return nil, nil },
	})
	addrs, err := r.Lookup(t.Context(), "a.example.com")
	if err != nil || len(addrs) != 1 {
		t.Fatal(addrs, err)
	}
	if _, err := r.Dial(t.Context(), "tcp", "", netip.AddrPortFrom(addrs[0], 80)); err == nil {
		t.Error("another port is allowed")
	}
	c, err := r.Dial(t.Context(), "tcp", "", netip.AddrPortFrom(addrs[0], 443))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
	if b, _ := io.ReadAll(c); !strings.HasSuffix(string(b), "through") || len(asked) != 1 || asked[0] != "a.example.com:443" {
		t.Errorf("read %q, asked %q", b, asked)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*.example.com:443", "[::1]:80")
	f.Fuzz(func(t *testing.T, item, host string) {
		p, err := Parse(false, []string{item}, false, nil)
		if err == nil && p.AllowsName(host, 1) && len(p.allow) == 0 {
			t.Errorf("%q allows %q", item, host)
		}
	})
}

// FuzzSpelling: whatever a program writes for a host, only names of the policy are
// looked up, and no address of this machine or a private network is reached by it.
func FuzzSpelling(f *testing.F) {
	for _, host := range []string{"a.com", "A.com.", "x.b.com", "127.1", "::ffff:7f00:1", "64:ff9b::a00:1", "fe80::1%eth0", "localhost.", "a.com\x00.evil"} {
		f.Add(host)
	}
	p, err := parseFlags("--allow-net=a.com,*.b.com,8.0.0.0/7")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host string) {
		r := p.NewRun(Options{LookupIP: func(_ context.Context, name string) ([]netip.Addr, error) {
			if name != "a.com" && !strings.HasSuffix(name, ".b.com") {
				t.Errorf("%q is looked up for %q", name, host)
			}
			return []netip.Addr{netip.MustParseAddr("::ffff:10.0.0.1"), netip.MustParseAddr("1.2.3.4")}, nil
		}})
		addrs, err := r.Lookup(t.Context(), host)
		if err != nil {
			return
		}
		for _, addr := range addrs {
			for _, network := range []string{"tcp", "udp"} {
				if _, err := r.Check(network, host, netip.AddrPortFrom(addr, 80)); err == nil && isSpecial(addr) {
					t.Errorf("%q reaches %v", host, addr)
				}
			}
		}
	})
}
