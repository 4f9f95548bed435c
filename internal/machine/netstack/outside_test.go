package netstack

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"coderunner/internal/machine/abi"
)

func sources() fs.FS { return os.DirFS(".") }

// host is an Outside that reaches the ports it has, on the host's loopback.
type host map[uint16]bool

type refusal struct{ netip.AddrPort }

func (r refusal) Error() string {
	return fmt.Sprintf("%v: allow it with --allow-net=%v", r.AddrPort, r.AddrPort)
}
func (r refusal) Flag() string { return "--allow-net" }

func (h host) Lookup(_ context.Context, name string) ([]netip.Addr, error) {
	if name == "there.example" {
		return []netip.Addr{netip.MustParseAddr("10.9.8.7")}, nil
	}
	return nil, &net.DNSError{IsNotFound: true}
}

func (h host) Dial(ctx context.Context, network, _ string, addr netip.AddrPort) (net.Conn, error) {
	if !h[addr.Port()] {
		return nil, refusal{addr}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), addr.Port()).String())
}

func (h host) Listen(_ context.Context, network string, addr netip.AddrPort) (net.Listener, error) {
	if !h[addr.Port()] {
		return nil, refusal{addr}
	}
	return net.Listen(network, addr.String())
}

func (h host) MayListen(addr netip.AddrPort) bool { return h[addr.Port()] }

func (h host) ListenPacket(_ context.Context, network string, addr netip.AddrPort) (PacketConn, error) {
	if !h[addr.Port()] {
		return nil, refusal{addr}
	}
	c, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(addr))
	return packets{c, h}, err
}

// packets send to the ports that the host has.
type packets struct {
	*net.UDPConn
	host
}

func (p packets) ReadFrom(b []byte) (int, netip.AddrPort, error) { return p.ReadFromUDPAddrPort(b) }

func (p packets) Check(to netip.AddrPort) error {
	if !p.host[to.Port()] {
		return refusal{to}
	}
	return nil
}

func (p packets) WriteTo(b []byte, to netip.AddrPort) (int, error) {
	if err := p.Check(to); err != nil {
		return 0, err
	}
	return p.WriteToUDPAddrPort(b, to)
}

// echo serves one connection of TCP: it sends back what it received once the
// other side has ended, and begins with a greeting.
func echo(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.WriteString(c, "hello ")
				b, _ := io.ReadAll(c)
				c.Write(b)
			}()
		}
	}()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

func connect(t *testing.T, k *Socket, to Addr) abi.Errno {
	t.Helper()
	e := k.Connect(bg, to)
	if e != abi.EINPROGRESS {
		return e
	}
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	is(t, "wait", k.Wait(ctx, abi.POLLOUT, 0), abi.OK)
	return k.Connected()
}

func readAll(t *testing.T, k *Socket) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	var all []byte
	buf := make([]byte, 1000)
	for {
		n, e := k.Read(ctx, buf, false)
		if is(t, "Read", e, abi.OK); n == 0 {
			return string(all)
		}
		all = append(all, buf[:n]...)
	}
}

func TestOutside(t *testing.T) {
	number := echo(t)
	s := New(Options{Outside: host{number: true}})
	defer s.Close()
	for _, address := range []string{fmt.Sprintf("10.0.0.1:%d", number), fmt.Sprintf("127.0.0.1:%d", number)} {
		k := open(t, s, abi.AF_INET, abi.SOCK_STREAM)
		is(t, "connect", connect(t, k, inet(address)), abi.OK)
		if p, e := k.Peer(); e != abi.OK || p != inet(address) {
			t.Errorf("Peer = %v, %v", p, e)
		}
		send(t, k, "and back")
		is(t, "shutdown", k.Shutdown(abi.SHUT_WR), abi.OK)
		if got := readAll(t, k); got != "hello and back" {
			t.Errorf("received %q", got)
		}
		k.Close()
	}
	k := open(t, s, abi.AF_INET, abi.SOCK_STREAM)
	is(t, "a port that is not allowed", connect(t, k, inet("10.0.0.1:1")), abi.EACCES)
	if got := k.Refusal(); got != "10.0.0.1:1: allow it with --allow-net=10.0.0.1:1" {
		t.Errorf("Refusal = %q", got)
	}
	is(t, "a port of the loopback", connect(t, k, inet("127.0.0.1:1")), abi.ECONNREFUSED)
	// The sandbox's own comes first.
	l, where := listen(t, s, fmt.Sprintf("127.0.0.2:%d", number), 1)
	is(t, "connect", k.Connect(bg, where), abi.OK)
	if _, _, e := l.Accept(); e != abi.OK {
		t.Errorf("Accept: %v", e)
	}
	if infos, err := s.Resolve(bg, "there.example", "80", Hint{Type: abi.SOCK_STREAM}); err != nil || infos[0].Addr.IP.String() != "10.9.8.7:80" {
		t.Errorf("Resolve = %v, %v", infos, err)
	}
	if _, err := s.Resolve(bg, "nowhere.example", "80", Hint{}); err == nil || err.Code != eaiNoName {
		t.Errorf("Resolve: %v", err)
	}
}

// TestHostInterface: where it is allowed, the host's programs reach a server of
// the sandbox.
func TestHostInterface(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	number := uint16(l.Addr().(*net.TCPAddr).Port)
	s := New(Options{Outside: host{number: true}})
	defer s.Close()
	k, where := listen(t, s, fmt.Sprintf("127.0.0.1:%d", number), 5)
	if s.Uncalled() {
		t.Error("Uncalled of what the host can call")
	}
	c, err := net.Dial("tcp", where.IP.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "from the host")
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	is(t, "wait", k.Wait(ctx, abi.POLLIN, 0), abi.OK)
	a, _, e := k.Accept()
	is(t, "accept", e, abi.OK)
	is(t, "wait", a.Wait(ctx, abi.POLLIN, 0), abi.OK)
	receive(t, a, "from the host")
	a.Close()
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the host's end reads: %v", err)
	}
	k.Close()
	if _, err := net.Dial("tcp", where.IP.String()); err == nil {
		t.Error("it still listens")
	}
}

// TestHostDatagrams: where it is allowed, the host's programs reach a socket of UDP,
// and are answered, as far as that is allowed.
func TestHostDatagrams(t *testing.T) {
	client, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	client.SetDeadline(time.Now().Add(time.Minute))
	other := client.LocalAddr().(*net.UDPAddr).AddrPort()
	free, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	number := uint16(free.LocalAddr().(*net.UDPAddr).Port)
	allowed := host{number: true}
	s := New(Options{Outside: allowed})
	defer s.Close()
	k := open(t, s, abi.AF_INET, abi.SOCK_DGRAM)
	where := inet(fmt.Sprintf("127.0.0.1:%d", number))
	is(t, "bind to a port that the host uses", k.Bind(where), abi.EADDRINUSE)
	free.Close()
	is(t, "bind", k.Bind(where), abi.OK)
	say := func(text string) {
		t.Helper()
		if _, err := client.WriteToUDPAddrPort([]byte(text), where.IP); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		is(t, "wait", k.Wait(ctx, abi.POLLIN, 0), abi.OK)
		receive(t, k, text)
	}
	to := inet(other.String())
	answer := Message{Data: [][]byte{[]byte("answer")}, To: &to}
	_, e := k.Send(bg, answer)
	is(t, "to a port of the loopback where nobody is known", e, abi.OK)
	say("question")
	_, e = k.Send(bg, answer)
	is(t, "answer who may not be", e, abi.EACCES)
	is(t, "connect to it", k.Connect(bg, to), abi.OK)
	_, e = k.Send(bg, Message{Data: answer.Data})
	is(t, "answer it", e, abi.EACCES)
	if got := k.Refusal(); got != (refusal{other}).Error() {
		t.Errorf("Refusal = %q", got)
	}
	allowed[other.Port()] = true
	send(t, k, "answer")
	b := make([]byte, 10)
	if n, from, err := client.ReadFromUDPAddrPort(b); err != nil || string(b[:n]) != "answer" || from != where.IP {
		t.Errorf("the client received %q from %v: %v", b[:n], from, err)
	}
	stranger, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(where.IP))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	stranger.Write([]byte("not the peer's"))
	say("thanks")
	is(t, "shutdown", k.Shutdown(abi.SHUT_RD), abi.OK)
	k.Close()
	again, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(where.IP))
	if err != nil {
		t.Fatal("the port is not free:", err)
	}
	again.Close()
}

// TestPortsOfConnections: a connection to the outside leaves no port behind.
func TestPortsOfConnections(t *testing.T) {
	number := echo(t)
	s := New(Options{Outside: host{number: true}})
	defer s.Close()
	for range 3 {
		k := open(t, s, abi.AF_INET, abi.SOCK_STREAM)
		is(t, "connect", connect(t, k, inet(fmt.Sprintf("10.0.0.1:%d", number))), abi.OK)
		k.Close()
	}
	if len(s.ports) != 0 {
		t.Errorf("%d ports are taken", len(s.ports))
	}
}

func TestOutsideDatagrams(t *testing.T) {
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	go func() {
		buf := make([]byte, 100)
		for {
			n, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			p.WriteTo(append(buf[:n], '!'), from)
		}
	}()
	number := uint16(p.LocalAddr().(*net.UDPAddr).Port)
	s := New(Options{Outside: host{number: true}})
	defer s.Close()
	k := open(t, s, abi.AF_INET, abi.SOCK_DGRAM)
	dest := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), number).String()
	to, not := inet(dest), inet("10.0.0.1:1")
	_, e := k.Send(bg, Message{Data: [][]byte{[]byte("x")}, To: &not})
	is(t, "send to what is not allowed", e, abi.EACCES)
	_, e = k.Send(bg, Message{Data: [][]byte{[]byte("a"), []byte("b")}, To: &to})
	is(t, "send", e, abi.OK)
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	is(t, "wait", k.Wait(ctx, abi.POLLIN, 0), abi.OK)
	buf := make([]byte, 10)
	r, e := k.Receive([][]byte{buf}, 0)
	if is(t, "receive", e, abi.OK); string(buf[:r.N]) != "ab!" || r.From != to {
		t.Errorf("received %q from %v", buf[:r.N], r.From)
	}
}
