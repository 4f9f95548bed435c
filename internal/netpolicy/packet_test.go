package netpolicy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// packets returns a socket of UDP on the host's loopback and its address.
func packets(t *testing.T, ip string) (*net.UDPConn, netip.AddrPort) {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(ip), 0)))
	if err != nil {
		t.Skip(err) // a machine whose loopback has one address
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c, c.LocalAddr().(*net.UDPAddr).AddrPort()
}

// TestListenPacket: what a run sends is checked, whoever wrote to it, and what comes
// from where it may never reach is dropped.
func TestListenPacket(t *testing.T) {
	friend, friendAt := packets(t, "127.0.0.1")
	stranger, strangerAt := packets(t, "127.0.0.2")
	denied, deniedAt := packets(t, "127.0.0.3")
	r := parsed(t, "--allow-net=127.0.0.1 --deny-net=127.0.0.3").NewRun(Options{})
	c, err := r.ListenPacket(t.Context(), "udp4", netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	here := c.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	b := make([]byte, 10)
	var got []any
	for _, from := range []*net.UDPConn{denied, stranger, friend} {
		if _, err := from.WriteToUDPAddrPort([]byte("question"), here); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.WriteTo([]byte("answer"), from)
		var refused *Refused
		got = append(got, from == friendAt, from == strangerAt, string(b[:n]), errors.As(err, &refused) && refused.Flag() == "--allow-net="+from.String())
	}
	if diff := cmp.Diff([]any{false, true, "question", true, true, false, "question", false}, got); diff != "" {
		t.Error(diff)
	}
	if n, from, err := friend.ReadFromUDPAddrPort(b); err != nil || string(b[:n]) != "answer" || from != here {
		t.Errorf("the friend received %q from %v: %v", b[:n], from, err)
	}
	if _, err := friend.WriteToUDPAddrPort([]byte("thanks"), here); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.ReadFrom(b); err != nil {
		t.Fatal(err)
	}
	contacts, _ := r.Contacts()
	var seen []string
	for _, c := range contacts {
		seen = append(seen, fmt.Sprint(c.Host, " ", c.Port, " ", c.Sent, " ", c.Received, " ", c.Refused != ""))
	}
	want := []string{
		fmt.Sprint("listening on 127.0.0.1 ", here.Port(), " 0 16 false"),
		fmt.Sprint("127.0.0.3 ", deniedAt.Port(), " 0 0 true"),
		fmt.Sprint("127.0.0.2 ", strangerAt.Port(), " 0 0 true"),
		fmt.Sprint("127.0.0.1 ", friendAt.Port(), " 6 6 false"),
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if _, err := r.ListenPacket(t.Context(), "udp4", netip.MustParseAddrPort("0.0.0.0:0")); err == nil {
		t.Error("it listens where the policy does not let it")
	}
}
