package netstack

import (
	"net/netip"
	"strings"
	"testing"

	"coderunner/internal/machine/abi"
)

func TestDatagrams(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	a, b := open(t, s, abi.AF_INET, abi.SOCK_DGRAM), open(t, s, abi.AF_INET6, abi.SOCK_DGRAM)
	is(t, "bind", b.Bind(at(abi.AF_INET6, "[::]:0")), abi.OK)
	dest := inet("127.0.0.1:" + strings.TrimPrefix(b.Name().IP.String(), "[::]:"))
	_, e := a.Send(bg, Message{Data: [][]byte{[]byte("x")}})
	is(t, "send without a destination", e, abi.EDESTADDRREQ)
	for _, text := range []string{"first", "", "third"} {
		n, e := a.Send(bg, Message{Data: [][]byte{[]byte(text)}, To: &dest})
		if is(t, "send", e, abi.OK); n != len(text) {
			t.Errorf("Send = %d", n)
		}
	}
	buf := make([]byte, 3)
	r, e := b.Receive([][]byte{buf}, abi.MSG_PEEK)
	if is(t, "peek", e, abi.OK); r.N != 3 || r.Size != 5 || string(buf) != "fir" {
		t.Errorf("Receive = %+v %q", r, buf)
	}
	if from := r.From.IP; from.Addr() != netip.MustParseAddr("::ffff:127.0.0.1") || from.Port() != a.Name().IP.Port() {
		t.Errorf("it came from %v", from)
	}
	for _, want := range []int{5, 0, 5} {
		if r, _ := b.Receive([][]byte{buf}, 0); r.Size != want {
			t.Errorf("a message of %d bytes, want %d", r.Size, want)
		}
	}
	fails(t, b, abi.EAGAIN)
	is(t, "connect where nobody is", a.Connect(bg, inet("127.0.0.1:9")), abi.OK)
	a.Send(bg, Message{Data: [][]byte{[]byte("x")}})
	fails(t, a, abi.ECONNREFUSED)
	long := inet("127.0.0.1:9")
	_, e = a.Send(bg, Message{Data: [][]byte{make([]byte, maxDatagram+1)}, To: &long})
	is(t, "a long datagram", e, abi.EMSGSIZE)
}

// TestFlood: datagrams that nobody reads are dropped, and held within bounds.
func TestFlood(t *testing.T) {
	held := int64(0)
	s := New(Options{Reserve: func(n int64) bool { held += n; return held < 8<<20 }, Unreserve: func(n int64) { held -= n }, MaxSockets: 100})
	defer s.Close()
	a, b := open(t, s, abi.AF_INET, abi.SOCK_DGRAM), open(t, s, abi.AF_INET, abi.SOCK_DGRAM)
	is(t, "bind", b.Bind(inet("127.0.0.1:0")), abi.OK)
	dest := b.Name()
	for range 10_000 {
		a.Send(bg, Message{Data: [][]byte{make([]byte, 1000)}, To: &dest})
	}
	if held > defaultLimit+4*socketCost {
		t.Errorf("%d bytes are held", held)
	}
	n := 2
	for ; n < 1000; n++ {
		if _, e := s.Socket(abi.AF_INET, abi.SOCK_STREAM, 0); e != abi.OK {
			is(t, "too many sockets", e, abi.ENFILE)
			break
		}
	}
	if n != 100 {
		t.Errorf("%d sockets were made", n)
	}
}
