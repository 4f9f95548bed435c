package netstack

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

var bg = context.Background()

func at(family uint32, text string) Addr {
	a := Addr{Sockaddr: abi.Sockaddr{Family: family}}
	if family == abi.AF_UNIX {
		a.Path = text
	} else {
		a.IP = netip.MustParseAddrPort(text)
	}
	return a
}

func inet(text string) Addr { return at(abi.AF_INET, text) }

func open(t testing.TB, s *Stack, domain, typ uint32) *Socket {
	t.Helper()
	k, e := s.Socket(domain, typ, 0)
	is(t, "socket", e, abi.OK)
	return k
}

func is(t testing.TB, what string, got, want abi.Errno) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// listen returns a listening socket of TCP and where it listens.
func listen(t testing.TB, s *Stack, where string, backlog int32) (*Socket, Addr) {
	t.Helper()
	l := open(t, s, abi.AF_INET, abi.SOCK_STREAM)
	is(t, "bind", l.Bind(inet(where)), abi.OK)
	is(t, "listen", l.Listen(backlog), abi.OK)
	return l, l.Name()
}

// dial returns a connection on the loopback.
func dial(t testing.TB, s *Stack) (client, server *Socket) {
	t.Helper()
	l, where := listen(t, s, "127.0.0.1:0", 5)
	defer l.Close()
	client = open(t, s, abi.AF_INET, abi.SOCK_STREAM)
	is(t, "connect", client.Connect(bg, where), abi.OK)
	server, from, e := l.Accept()
	is(t, "accept", e, abi.OK)
	if from != client.Name() || server.Name() != where || from.IP.Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("accepted from %v to %v, the client has %v", from, server.Name(), client.Name())
	}
	return client, server
}

// A server that waits for callers in vain is told from one that is called, and from one of the program's own files.
func TestUncalled(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	for i, test := range []struct {
		do   func()
		want bool
	}{
		{func() {}, false},
		{func() { listen(t, s, "0.0.0.0:0", 5) }, true},
		{func() {}, false}, // it was asked
		{func() { dial(t, s) }, false},
		{func() {
			l := open(t, s, abi.AF_UNIX, abi.SOCK_STREAM)
			is(t, "bind", l.Bind(at(abi.AF_UNIX, "\x00name")), abi.OK)
			is(t, "listen", l.Listen(5), abi.OK)
		}, false},
	} {
		if test.do(); s.Uncalled() != test.want {
			t.Errorf("%d: Uncalled = %t, want %t", i, !test.want, test.want)
		}
	}
}

func send(t testing.TB, k *Socket, text string) {
	t.Helper()
	if n, e := k.Write(bg, []byte(text), true); e != abi.OK || n != len(text) {
		t.Fatalf("Write(%q) = %d, %v", text, n, e)
	}
}

func receive(t testing.TB, k *Socket, want string) {
	t.Helper()
	buf := make([]byte, 100)
	if n, e := k.Read(bg, buf, true); e != abi.OK || string(buf[:n]) != want {
		t.Fatalf("Read = %q, %v, want %q", buf[:n], e, want)
	}
}

func fails(t testing.TB, k *Socket, want abi.Errno) {
	t.Helper()
	n, e := k.Read(bg, make([]byte, 10), true)
	if is(t, "Read", e, want); n != 0 {
		t.Errorf("Read = %d", n)
	}
}

func TestStream(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	client, server := dial(t, s)
	fails(t, server, abi.EAGAIN)
	send(t, client, "question")
	if got := server.Available(); got != 8 {
		t.Errorf("Available = %d", got)
	}
	receive(t, server, "question")
	send(t, server, "answer")
	is(t, "shutdown", client.Shutdown(abi.SHUT_WR), abi.OK)
	receive(t, server, "")
	if got := server.Ready(); got&abi.POLLRDHUP == 0 || got&abi.POLLHUP != 0 {
		t.Errorf("after a half close Ready = %#x", got)
	}
	receive(t, client, "answer")
	_, e := client.Write(bg, []byte("x"), true)
	is(t, "write after shutdown", e, abi.EPIPE)
	server.Close()
	receive(t, client, "")
	late, dead := dial(t, s)
	dead.Close()
	send(t, late, "nobody is told yet")
	_, e = late.Write(bg, []byte("x"), true)
	is(t, "the second write to a closed peer", e, abi.EPIPE)
	if got := client.Ready(); got&abi.POLLHUP == 0 {
		t.Errorf("after both ends closed Ready = %#x", got)
	}
}

// TestReset: who closes without reading resets the connection. What had come
// before can still be read.
func TestReset(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	client, server := dial(t, s)
	send(t, client, "unread")
	send(t, server, "parting")
	server.Close()
	_, e := client.Peer()
	is(t, "getpeername of a connection that was reset", e, abi.ENOTCONN)
	receive(t, client, "parting")
	fails(t, client, abi.ECONNRESET)
	receive(t, client, "")
	client.Write(bg, []byte("x"), true)
	_, e = client.Write(bg, []byte("x"), true)
	is(t, "write", e, abi.EPIPE)
}

func TestConnectErrors(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	l, where := listen(t, s, "127.0.0.1:0", 0)
	for address, want := range map[string]abi.Errno{
		"127.0.0.1:1": abi.ECONNREFUSED, "127.0.0.2:" + port0(where): abi.ECONNREFUSED, "0.0.0.0:1": abi.ECONNREFUSED,
		"10.0.0.1:80": abi.EACCES, "169.254.169.254:80": abi.EACCES, "127.0.0.1:0": abi.ECONNREFUSED,
	} {
		k := open(t, s, abi.AF_INET, abi.SOCK_STREAM)
		is(t, address, connect(t, k, inet(address)), want)
		k.Close()
	}
	k := open(t, s, abi.AF_INET, abi.SOCK_STREAM)
	is(t, "an address of another family", k.Connect(bg, at(abi.AF_INET6, "[::1]:1")), abi.EAFNOSUPPORT)
	is(t, "connect by 0.0.0.0", k.Connect(bg, inet("0.0.0.0:"+port0(where))), abi.OK)
	is(t, "connect again", k.Connect(bg, where), abi.EISCONN)
	is(t, "bind a connected socket", k.Bind(inet("127.0.0.1:0")), abi.EINVAL)
	other := open(t, s, abi.AF_INET, abi.SOCK_STREAM)
	is(t, "bind a port that is taken", other.Bind(where), abi.EADDRINUSE)
	is(t, "bind all addresses of it", other.Bind(inet("0.0.0.0:"+port0(where))), abi.EADDRINUSE)
	is(t, "bind elsewhere", other.Bind(inet("192.168.0.1:0")), abi.EADDRNOTAVAIL)
	l.Close()
	_, e := k.Read(bg, make([]byte, 1), true)
	is(t, "a connection nobody accepted", e, abi.ECONNRESET)
	is(t, "bind the port again", other.Bind(where), abi.OK)
}

func port0(a Addr) string { _, p, _ := strings.Cut(a.IP.String(), ":"); return p }

// TestBacklog: who finds no room waits, and gets in when there is some.
func TestBacklog(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	l, where := listen(t, s, "127.0.0.1:0", 0)
	first, second := open(t, s, abi.AF_INET, abi.SOCK_STREAM), open(t, s, abi.AF_INET, abi.SOCK_STREAM)
	is(t, "connect", first.Connect(bg, where), abi.OK)
	is(t, "connect", second.Connect(bg, where), abi.EINPROGRESS)
	is(t, "the end", second.Connected(), abi.EINPROGRESS)
	is(t, "connect", second.Connect(bg, where), abi.EALREADY)
	if got := second.Ready(); got != 0 {
		t.Errorf("connecting, Ready = %#x", got)
	}
	_, _, e := l.Accept()
	is(t, "accept", e, abi.OK)
	is(t, "the end", second.Connected(), abi.OK)
	third := open(t, s, abi.AF_INET, abi.SOCK_STREAM)
	is(t, "connect", third.Connect(bg, where), abi.EINPROGRESS)
	l.Close()
	is(t, "the end", third.Connected(), abi.ECONNREFUSED)
}

// TestBlocking moves more than a buffer holds, and ends a read by its context,
// by a time limit and by the peer.
func TestBlocking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := int64(0)
		s := New(Options{Reserve: func(n int64) bool { held += n; return true }, Unreserve: func(n int64) { held -= n }})
		client, server := dial(t, s)
		data := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
		go func() {
			if n, e := client.Write(bg, data, false); n != len(data) || e != abi.OK {
				t.Errorf("Write = %d, %v", n, e)
			}
			client.Shutdown(abi.SHUT_WR)
		}()
		var got []byte
		buf := make([]byte, 10_007)
		for {
			n, e := server.Read(bg, buf, false)
			if is(t, "Read", e, abi.OK); n == 0 {
				break
			}
			got = append(got, buf[:n]...)
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes came through, or others than were sent", len(got))
		}
		ctx, cancel := context.WithCancel(bg)
		time.AfterFunc(time.Second, cancel)
		_, e := client.Read(ctx, buf, false)
		is(t, "cancelled read", e, abi.EINTR)
		is(t, "SO_RCVTIMEO", client.SetOption(abi.SOL_SOCKET, abi.SO_RCVTIMEO, append([]byte{2}, make([]byte, 15)...)), abi.OK)
		_, e = client.Read(bg, buf, false)
		is(t, "read with a time limit", e, abi.EAGAIN)
		s.Close()
		if held != 0 {
			t.Errorf("%d bytes are held by a closed network", held)
		}
	})
}

func TestUnix(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	fsys := memfs.New(memfs.Options{})
	a, b, e := s.Pair(abi.SOCK_STREAM)
	is(t, "socketpair", e, abi.OK)
	r, w, e := fsys.Pipe(0)
	is(t, "pipe", e, abi.OK)
	send(t, a, "before ")
	n, e := a.Send(bg, Message{Data: [][]byte{[]byte("with")}, Files: []*memfs.File{r}})
	if is(t, "send", e, abi.OK); n != 4 {
		t.Errorf("Send = %d", n)
	}
	send(t, a, " after")
	buf := make([]byte, 100)
	for i, want := range []string{"before ", "with after"} {
		got, e := b.Receive([][]byte{buf}, 0)
		is(t, "receive", e, abi.OK)
		if string(buf[:got.N]) != want || len(got.Files) != i {
			t.Errorf("received %q with %d files", buf[:got.N], len(got.Files))
		}
		for _, f := range got.Files {
			w.Write(bg, []byte("passed"))
			if n, _ := f.Read(bg, buf); string(buf[:n]) != "passed" {
				t.Errorf("the file reads %q", buf[:n])
			}
			f.Close()
		}
	}
	if n, e := w.Write(bg, []byte("x")); n != 0 || e != abi.EPIPE {
		t.Errorf("the passed end was closed; Write = %d, %v", n, e)
	}
	l, c := open(t, s, abi.AF_UNIX, abi.SOCK_STREAM), open(t, s, abi.AF_UNIX, abi.SOCK_STREAM)
	name := at(abi.AF_UNIX, "\x00name")
	is(t, "connect", c.Connect(bg, name), abi.ECONNREFUSED)
	is(t, "bind", l.Bind(name), abi.OK)
	is(t, "connect before listen", c.Connect(bg, name), abi.ECONNREFUSED)
	is(t, "listen", l.Listen(1), abi.OK)
	is(t, "connect", c.Connect(bg, name), abi.OK)
	if p, e := c.Peer(); e != abi.OK || p != name {
		t.Errorf("Peer = %v, %v", p, e)
	}
	d1, d2 := open(t, s, abi.AF_UNIX, abi.SOCK_DGRAM), open(t, s, abi.AF_UNIX, abi.SOCK_DGRAM)
	is(t, "autobind", d1.Bind(at(abi.AF_UNIX, "")), abi.OK)
	is(t, "connect", d2.Connect(bg, d1.Name()), abi.OK)
	for range 300 {
		if _, e = d2.Send(bg, Message{Data: [][]byte{make([]byte, 1000)}}); e != abi.OK {
			break
		}
	}
	is(t, "send to who does not read", e, abi.EAGAIN)
	if d2.Ready()&abi.POLLOUT != 0 {
		t.Error("it can be written to, says poll")
	}
	d1.Receive([][]byte{buf}, 0)
	if d2.Ready()&abi.POLLOUT == 0 {
		t.Error("it cannot be written to, says poll")
	}
}

// TestApart: two networks have nothing in common.
func TestApart(t *testing.T) {
	one, two := New(Options{}), New(Options{})
	defer one.Close()
	defer two.Close()
	l, where := listen(t, one, "0.0.0.0:8000", 5)
	c := open(t, two, abi.AF_INET, abi.SOCK_STREAM)
	is(t, "connect to another's", connect(t, c, inet("127.0.0.1:8000")), abi.ECONNREFUSED)
	listen(t, two, "0.0.0.0:8000", 5)
	_, _, e := l.Accept()
	is(t, "accept", e, abi.EAGAIN)
	_ = where
}

// TestDialsNothing: of package net only types are used.
func TestDialsNothing(t *testing.T) {
	files, err := fs.Glob(sources(), "*.go")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if p, ok := x.X.(*ast.Ident); ok && p.Name == "net" && !slices.Contains([]string{"Conn", "Listener", "Addr", "DNSError", "OpError", "ErrClosed", "TCPAddrFromAddrPort", "UnknownNetworkError"}, x.Sel.Name) {
				t.Errorf("%s uses net.%s", name, x.Sel.Name)
			}
			return true
		})
	}
}
