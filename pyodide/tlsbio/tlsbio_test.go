package tlsbio

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parties are a client and a server whose outputs are one another's input.
type parties struct {
	client, server *Conn
	store          *Store
	step           int // bytes that travel at once
}

func connect(t testing.TB, store *Store, client, server Config) *parties {
	t.Helper()
	server.Server = true
	for _, c := range []*Config{&client, &server} {
		if c.Min == 0 {
			c.Min, c.Max = tls.VersionTLS12, tls.VersionTLS13
		}
	}
	p := &parties{store: store, step: 1 << 20}
	var err error
	if p.server, err = New(server, store); err != nil {
		t.Fatal(err)
	}
	if p.client, err = New(client, store); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.client.Close(); p.server.Close() })
	return p
}

// carry takes what from has for to.
func (p *parties) carry(t testing.TB, from, to *Conn) {
	t.Helper()
	for out := from.Output(); len(out) > 0; {
		n := min(p.step, len(out))
		if err := to.Feed(out[:n], false); err != nil {
			t.Fatal(err)
		}
		out = out[n:]
		if len(out) > 0 && !to.hs.done {
			to.Handshake()
		}
	}
}

// handshake returns the errors of both.
func (p *parties) handshake(t testing.TB) (client, server error) {
	t.Helper()
	for range 10 {
		var c, s Status
		c, client = p.client.Handshake()
		p.carry(t, p.client, p.server)
		if s, server = p.server.Handshake(); s == WantConfig {
			return client, server
		}
		p.carry(t, p.server, p.client)
		if c == Failed || s == Failed || c == Done && s == Done {
			if s == Failed && c != Failed { // it learns of it
				if _, client = p.client.Handshake(); client == nil {
					_, _, client = p.client.Read(make([]byte, 1))
				}
			}
			return client, server
		}
	}
	t.Fatal("the handshake does not end")
	return nil, nil
}

func (p *parties) must(t testing.TB) {
	t.Helper()
	if c, s := p.handshake(t); c != nil || s != nil {
		t.Fatalf("client: %v, server: %v", c, s)
	}
}

// send sends data from one to the other, which gets it and then lacks input.
func (p *parties) send(t testing.TB, from, to *Conn, data []byte) {
	t.Helper()
	if s, err := from.Write(data); s != Done {
		t.Fatal(s, err)
	}
	p.carry(t, from, to)
	got := make([]byte, 0, len(data))
	for {
		b := make([]byte, 10_000)
		n, s, err := to.Read(b)
		if got = append(got, b[:n]...); s == WantRead {
			break
		}
		if s != Done || n == 0 {
			t.Fatal(n, s, err)
		}
	}
	if !bytes.Equal(got, data) {
		t.Fatalf("%d bytes came, of %d", len(got), len(data))
	}
}

func TestConn(t *testing.T) {
	store, held := newStore(1 << 20)
	ca := newAuthority(t, "CA", nil)
	chain, roots := store.addChain(t, newLeaf(t, ca, nil)), store.addRoot(t, ca)
	data := bytes.Repeat([]byte("0123456789abcde"), 10_000)
	for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS13; version++ {
		for _, step := range []int{1, 1 << 20} {
			p := connect(t, store,
				Config{Name: "localhost", CheckName: true, Verify: VerifyRequired, Roots: []string{roots}, Min: version, Max: version, ALPN: []string{"b", "a"}, KeyLog: true},
				Config{Chains: []string{chain}, Min: version, Max: version, ALPN: []string{"a", "b"}})
			p.step = step
			p.must(t)
			p.step = 1 << 20
			p.send(t, p.client, p.server, data)
			p.send(t, p.server, p.client, data[:1])
			info, err := p.client.Info()
			if err != nil || info.Version != version || info.ALPN != "a" || len(info.Peer) != 1 || len(info.Verified) != 2 || info.Keys == "" {
				t.Errorf("%x: %+v, %v", version, info, err)
			}
			shutdown(t, p)
		}
	}
	if *held <= 0 || *held > 100_000 {
		t.Errorf("%d bytes are held for two certificates", *held)
	}
}

// shutdown closes both, with plaintext behind the server's close_notify.
func shutdown(t *testing.T, p *parties) {
	t.Helper()
	if s, err := p.server.Shutdown(); s != WantRead {
		t.Fatal(s, err)
	}
	p.carry(t, p.server, p.client)
	p.client.Feed([]byte("plain"), false)
	if _, s, err := p.client.Read(make([]byte, 9)); s != Closed {
		t.Fatal(s, err)
	}
	if s, err := p.client.Shutdown(); s != Done {
		t.Fatal(s, err)
	}
	if left := p.client.Leftover(); string(left) != "plain" {
		t.Errorf("left over: %q", left)
	}
	p.carry(t, p.client, p.server)
	if s, err := p.server.Shutdown(); s != Done {
		t.Fatal(s, err)
	}
	if s, _ := p.client.Write([]byte("x")); s != Failed {
		t.Error("written after the end:", s)
	}
}

// TestTruncated has a peer that goes away.
func TestTruncated(t *testing.T) {
	store, _ := newStore(1 << 20)
	chain := store.addChain(t, newLeaf(t, nil, nil))
	p := connect(t, store, Config{}, Config{Chains: []string{chain}})
	p.client.Handshake()
	p.client.Feed([]byte{22, 3, 3}, true)
	if s, err := p.client.Handshake(); s != Failed || !isEOF(err) {
		t.Error(s, err)
	}
	p = connect(t, store, Config{}, Config{Chains: []string{chain}})
	p.must(t)
	p.client.Feed(nil, true)
	if _, s, err := p.client.Read(make([]byte, 1)); s != Failed || !isEOF(err) {
		t.Error(s, err)
	}
}

func isEOF(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.EOF
}

func TestServerName(t *testing.T) {
	store, _ := newStore(1 << 20)
	ca := newAuthority(t, "CA", nil)
	one := store.addChain(t, newLeaf(t, ca, func(c *x509.Certificate) { c.DNSNames = []string{"one"} }))
	two := store.addChain(t, newLeaf(t, ca, func(c *x509.Certificate) { c.DNSNames = []string{"two"} }))
	client := Config{Name: "two", CheckName: true, Verify: VerifyRequired, Roots: []string{store.addRoot(t, ca)}}
	server := Config{Chains: []string{one}, AskConfig: true}

	p := connect(t, store, client, server)
	if p.handshake(t); p.server.ServerName() != "two" {
		t.Fatalf("%q", p.server.ServerName())
	}
	if err := p.server.Configure(Config{Chains: []string{two}, Min: tls.VersionTLS12, Max: tls.VersionTLS13}); err != nil {
		t.Fatal(err)
	}
	p.must(t)

	p = connect(t, store, client, server)
	p.handshake(t)
	p.server.Refuse(112)
	if _, err := p.server.Handshake(); err == nil {
		t.Error("a refused client is served")
	}
	p.carry(t, p.server, p.client)
	if _, err := p.client.Handshake(); err == nil || err.(*Error).Reason != "TLSV1_UNRECOGNIZED_NAME" {
		t.Error(err)
	}

	p = connect(t, store, client, server) // and is left waiting
	p.handshake(t)
}

func TestSession(t *testing.T) {
	store, _ := newStore(1 << 20)
	ca := newAuthority(t, "CA", nil)
	server := Config{Chains: []string{store.addChain(t, newLeaf(t, ca, nil))}, TicketKey: make([]byte, 32)}
	roots := store.addRoot(t, ca)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		server.Min, server.Max = version, version
		client := Config{Name: "localhost", CheckName: true, Verify: VerifyRequired, Roots: []string{roots}, Min: version, Max: version}
		for i := range 2 {
			p := connect(t, store, client, server)
			p.must(t)
			p.send(t, p.server, p.client, []byte("x"))
			info, err := p.client.Info()
			if err != nil || info.Reused != (i == 1) || len(info.Session) == 0 || len(info.Verified) != 2 {
				t.Errorf("%x, connection %d: %+v, %v", version, i, info, err)
			}
			client.Session = info.Session
		}
		client.Name = "elsewhere" // a session is no way around the check
		if err, _ := connect(t, store, client, server).handshake(t); err == nil {
			t.Error("a session is resumed with another name")
		}
	}
}

// TestBounds has requests for more than a connection holds.
func TestBounds(t *testing.T) {
	store, _ := newStore(1 << 20)
	p := connect(t, store, Config{}, Config{})
	if err := p.client.Feed(make([]byte, MaxFeed), false); err != nil {
		t.Error(err)
	}
	if err := p.client.Feed([]byte{1}, false); err == nil {
		t.Error("a connection takes any amount")
	}
	if s, err := p.server.Write([]byte("early")); s != Failed || err == nil {
		t.Error(s, err)
	}
	if _, err := New(Config{Name: string(make([]byte, 1000))}, store); err == nil {
		t.Error("a long name")
	}
	if _, err := New(Config{Chains: []string{"none"}}, store); !errors.As(err, new(*MissingError)) {
		t.Error(err)
	}
}

// TestStore fills a store.
func TestStore(t *testing.T) {
	store, held := newStore(60_000)
	ca := newAuthority(t, "CA", nil)
	first := store.addRoot(t, ca)
	p := connect(t, store, Config{Verify: VerifyRequired, Roots: []string{first}}, Config{})
	for range 100 {
		store.addRoot(t, newAuthority(t, time.Now().String(), nil))
	}
	if _, err := store.get(first); err == nil || len(store.items) > maxItems {
		t.Errorf("%d items are kept", len(store.items))
	}
	before := *held
	p.client.Close()
	if *held >= before {
		t.Error("what a connection used is charged after it")
	}
	if _, err := store.AddRoots(bytes.Repeat(ca.cert.Raw, 30)); err != errMemory {
		t.Error(err)
	}
}
