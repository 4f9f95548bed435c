package netstack

import (
	"testing"

	"coderunner/internal/machine/abi"
)

// FuzzOptions sets and reads options with arbitrary numbers and values: nothing
// panics, and what a socket remembers is bounded, charged and given back.
func FuzzOptions(f *testing.F) {
	for _, number := range [][2]uint32{
		{abi.SOL_SOCKET, abi.SO_RCVBUF}, {abi.SOL_SOCKET, abi.SO_LINGER}, {abi.SOL_SOCKET, abi.SO_RCVTIMEO}, {abi.SOL_SOCKET, abi.SO_ERROR},
		{abi.IPPROTO_IPV6, abi.IPV6_V6ONLY}, {abi.IPPROTO_TCP, tcpCongestion}, {1 << 31, 1 << 31},
	} {
		f.Add(number[0], number[1], []byte("\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x02\x03\x04\x05\x06\x07\x08"))
	}
	f.Fuzz(func(t *testing.T, level, name uint32, value []byte) {
		held := int64(0)
		s := New(Options{
			Reserve:   func(n int64) bool { held += n; return held <= 1<<20 },
			Unreserve: func(n int64) { held -= n },
		})
		defer s.Close()
		for _, kind := range [][2]uint32{{abi.AF_INET, abi.SOCK_STREAM}, {abi.AF_INET6, abi.SOCK_DGRAM}, {abi.AF_UNIX, abi.SOCK_STREAM}} {
			k := open(t, s, kind[0], kind[1])
			for i := range uint32(3 * maxOptions / 2) {
				set := k.SetOption(level, name+i, value)
				if got, e := k.Option(level, name+i); e == abi.OK && len(got) > maxOption {
					t.Errorf("option %d, %d has %d bytes, set with %v", level, name+i, len(got), set)
				}
			}
			if len(k.opts.rest) > maxOptions || k.limitLocked() < 0 || k.limitLocked() > maxLimit {
				t.Errorf("%d options are remembered, the limit is %d", len(k.opts.rest), k.limitLocked())
			}
			if _, e := k.Write(bg, []byte("x"), true); e == abi.OK {
				t.Error("written to nobody")
			}
			k.Close()
		}
		if held != 0 {
			t.Errorf("%d bytes are still charged", held)
		}
	})
}

// TestManyConnections has thousands of connections at once, and many more one after
// the other: all is given back.
func TestManyConnections(t *testing.T) {
	held := int64(0)
	s := New(Options{
		Reserve:   func(n int64) bool { held += n; return true },
		Unreserve: func(n int64) { held -= n },
	})
	defer s.Close()
	l, where := listen(t, s, "127.0.0.1:0", maxBacklog)
	before := held
	var all []*Socket
	connect := func() *Socket {
		c := open(t, s, abi.AF_INET, abi.SOCK_STREAM)
		is(t, "connect", c.Connect(bg, where), abi.OK)
		server, _, e := l.Accept()
		is(t, "accept", e, abi.OK)
		send(t, c, "question")
		all = append(all, c, server)
		return server
	}
	for range 4000 {
		connect()
	}
	if got := held - before; got < 8000*socketCost {
		t.Errorf("%d bytes are charged for 4000 connections", got)
	}
	for _, k := range all {
		k.Close()
	}
	all = nil
	for i := range 20_000 {
		receive(t, connect(), "question")
		all[i%2].Close()
		all[1-i%2].Close()
		all = all[:0]
	}
	if held != before || len(s.sockets) != 1 || len(s.ports) != 1 {
		t.Errorf("%d bytes, %d sockets and %d ports are left", held-before, len(s.sockets)-1, len(s.ports)-1)
	}
}
