package netstack

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	"golang.org/x/net/nettest"

	"coderunner/internal/machine/abi"
)

// TestConn holds both ends of a connection of Dial to what every net.Conn must do.
func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
		held := int64(0)
		s := New(Options{Reserve: func(n int64) bool { held += n; return true }, Unreserve: func(n int64) { held -= n }})
		l, where := listen(t, s, "127.0.0.1:0", 1)
		a, err = s.Dial(bg, where.IP)
		if err != nil {
			return nil, nil, nil, err
		}
		k, from, e := l.Accept()
		if e != abi.OK || from.IP.String() != a.LocalAddr().String() || where.IP.String() != a.RemoteAddr().String() {
			t.Errorf("accepted from %v, %v, by a connection from %v to %v", from, e, a.LocalAddr(), a.RemoteAddr())
		}
		b = &conn{k: k, from: where.IP, to: from.IP}
		return a, b, func() {
			a.Close()
			b.Close()
			l.Close()
			if held != 0 {
				t.Errorf("%d bytes are still charged", held)
			}
		}, nil
	})
}

// TestDial reaches what listens on the loopback, by all of its addresses, and nothing
// else, whatever lies outside.
func TestDial(t *testing.T) {
	s := New(Options{Outside: host{9: true}})
	defer s.Close()
	four, where := listen(t, s, "127.0.0.1:0", 1)
	six := open(t, s, abi.AF_INET6, abi.SOCK_STREAM)
	is(t, "bind", six.Bind(at(abi.AF_INET6, "[::]:8000")), abi.OK)
	is(t, "listen", six.Listen(5), abi.OK)
	port := where.IP.Port()
	for to, want := range map[netip.AddrPort]error{
		where.IP: nil,
		netip.MustParseAddrPort("127.0.0.1:8000"): nil, netip.MustParseAddrPort("[::1]:8000"): nil,
		netip.MustParseAddrPort("[::ffff:127.0.0.1]:8000"): nil, netip.MustParseAddrPort("0.0.0.0:8000"): nil,
		netip.AddrPortFrom(netip.IPv6Loopback(), port): abi.ECONNREFUSED, netip.MustParseAddrPort("127.0.0.1:9"): abi.ECONNREFUSED,
		netip.MustParseAddrPort("10.0.0.1:8000"): abi.ECONNREFUSED, netip.MustParseAddrPort("127.0.0.1:0"): abi.ECONNREFUSED,
	} {
		c, err := s.Dial(bg, to)
		if !errors.Is(err, want) {
			t.Errorf("Dial %v: %v, want %v", to, err, want)
		}
		if c != nil {
			defer c.Close()
		}
	}
	// There is no room for another until somebody accepts.
	ctx, cancel := context.WithCancel(bg)
	cancel()
	var err error
	for range maxBacklog {
		var c net.Conn
		if c, err = s.Dial(ctx, where.IP); err != nil {
			break
		}
		defer c.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a full backlog: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		done := make(chan error)
		go func() {
			c, err := s.Dial(bg, where.IP)
			if err == nil {
				c.Close()
			}
			done <- err
		}()
		synctest.Wait()
		if _, _, e := four.Accept(); e != abi.OK {
			t.Error(e)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestLoopback(t *testing.T) {
	both := []string{"127.0.0.1", "::1"}
	for name, want := range map[string][]string{
		"localhost": both, "LOCALHOST.": both, "a.localhost": both, "127.1": {"127.0.0.1"}, "0": {"127.0.0.1"}, "2130706433": {"127.0.0.1"},
		"127.9.9.9": {"127.9.9.9"}, "::": {"::1"}, "::ffff:127.0.0.1": {"127.0.0.1"}, "10.0.0.1": nil, "localhost.example": nil, "": nil,
	} {
		var got []string
		for _, ip := range Loopback(name) {
			got = append(got, ip.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("Loopback(%q) = %v, want %v", name, got, want)
		}
	}
}
