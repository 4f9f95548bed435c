package netpolicy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// asks is a run whose user answers by the host, with what was asked so far.
func asks(t *testing.T, allow, deny string) (*Run, func() string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	o := Options{
		LookupIP: func(_ context.Context, host string) ([]netip.Addr, error) {
			switch {
			case strings.HasPrefix(host, "inside"):
				return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
			case strings.HasPrefix(host, "denied-address"):
				return []netip.Addr{netip.MustParseAddr("203.0.113.66")}, nil
			case strings.HasPrefix(host, "ok"):
				return []netip.Addr{netip.MustParseAddr("203.0.113.1")}, nil
			}
			t.Errorf("%s was looked up", host)
			return nil, errors.New("no")
		},
		Ask: func(_ context.Context, host string, port uint16) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprintf("%s:%d", host, port))
			if strings.HasPrefix(host, "gone") {
				return false, errors.New("the client has gone")
			}
			return !strings.HasPrefix(host, "no"), nil
		},
	}
	list := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }
	p, err := Parse(false, list(allow), false, list(deny))
	if err != nil {
		t.Fatal(err)
	}
	return p.NewRun(o), func() string {
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(asked, " ")
		asked = nil
		return all
	}
}

// dialed returns why a host cannot be reached, "" if only the network is to blame.
func dialed(t *testing.T, r *Run, host string, port uint16) string {
	t.Helper()
	addrs, err := r.Lookup(t.Context(), host)
	if err == nil {
		ctx, cancel := context.WithCancel(t.Context())
		at := netip.AddrPortFrom(addrs[0], port)
		r.Admit(ctx, host, at)
		cancel() // so that nothing leaves this machine
		var c net.Conn
		if c, err = r.Dial(ctx, "tcp", host, at); err == nil {
			c.Close()
		}
	}
	var refused *Refused
	if errors.As(err, &refused) {
		return refused.Error()
	}
	return ""
}

func TestAsk(t *testing.T) {
	r, asked := asks(t, "allowed.example:443", "denied.example,203.0.113.66,denied-port.example:80")
	for _, tt := range []struct {
		host        string
		port        uint16
		asked, want string // what the refusal has, "": none
	}{
		{"ok.example", 443, "ok.example:443", ""},
		{"OK.example.", 443, "", ""},
		{"ok.example", 80, "ok.example:80", ""},
		{"no.example", 443, "no.example:443", "the user was asked"},
		{"no.example", 443, "", "the user was asked"},
		{"inside.example", 80, "inside.example:80", "169.254.169.254"},
		{"inside.example", 80, "", "169.254.169.254"},
		{"denied-address.example", 80, "denied-address.example:80", "--deny-net"},
		{"denied.example", 80, "", "--deny-net"},
		{"denied-port.example", 80, "", "--deny-net"},
		{"127.0.0.1", 80, "", "must be named"},
		{"10.0.0.1", 80, "", "must be named"},
		{"::ffff:169.254.169.254", 80, "", "must be named"},
		{"64:ff9b::a9fe:a9fe", 80, "", "must be named"},
		{"localhost", 80, "", "refused"},
		{"203.0.113.66", 80, "", "--deny-net"},
		{"203.0.113.9", 80, "", "do not have it"}, // the sixth
	} {
		why := dialed(t, r, tt.host, tt.port)
		if got := asked(); got != tt.asked {
			t.Errorf("%s:%d: asked %q, want %q", tt.host, tt.port, got, tt.asked)
		}
		if !strings.Contains(why, tt.want) || tt.want == "" && why != "" {
			t.Errorf("%s:%d: %s, want %q", tt.host, tt.port, why, tt.want)
		}
	}
	for _, name := range []string{"a\"? Yes.example", "a b.example", "x\n.example", "пример.example", strings.Repeat("a", 254)} {
		if _, err := r.Lookup(t.Context(), name); err == nil {
			t.Errorf("%q can be asked about", name)
		}
	}
	// Who does not answer is asked no more, and a datagram is not worth a question.
	r, asked = asks(t, "", "")
	if _, err := r.Dial(t.Context(), "udp", "", netip.MustParseAddrPort("203.0.113.9:53")); err == nil || asked() != "" {
		t.Errorf("a datagram: %v", err)
	}
	dialed(t, r, "gone.example", 80)
	if why := dialed(t, r, "ok.example", 80); asked() != "gone.example:80" || why == "" {
		t.Errorf("after no answer: %s", why)
	}
}

// TestAskOnce has many connections wait for one answer.
func TestAskOnce(t *testing.T) {
	r, asked := asks(t, "", "")
	addrs, err := r.Lookup(t.Context(), "ok.example")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { r.Admit(t.Context(), "", netip.AddrPortFrom(addrs[0], 80)) })
	}
	all.Wait()
	if got := asked(); got != "ok.example:80" {
		t.Errorf("asked %q", got)
	}
}
