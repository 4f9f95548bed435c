// Package intercept stands between programs and chosen hosts: it terminates the TLS of their
// connections and opens its own, to insert secrets into requests, to record HTTP exchanges,
// and to answer from a recording without a network.
//
//	program ──TLS, our authority──> Interceptor ──TLS, the system's authorities──> host
//	          placeholder                secret
//
// A program never holds a secret: it has a placeholder, which is replaced by the secret in
// requests to the secret's host over TLS; in that host's answers, the secret is replaced by
// the placeholder. Placeholders are random for each program, so that no stranger can write
// one; a recording has what the program sent and got, with placeholders, which a replay uses
// again.
//
// # Sources
//
// HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), RFC 9112.
//
// # Locking
//
// recording.mu guards a recording. It is not held while anything waits.
//
// # Limits
//
// HTTP/1.1 only: HTTP/2 is not offered. A WebSocket is passed on, with the secrets of its
// first request, and not recorded; nothing is put into its messages. Bodies above 16 MiB are
// not recorded, nor searched for placeholders above 1 MiB. Other protocols are passed on
// while recording, and refused while replaying.
package intercept

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"coderunner/internal/netpolicy"
)

// Interceptor serves the connections of one program to some hosts, or makes those that
// do: see Begin.
type Interceptor struct {
	*common
	secrets *Secrets
}

// common is what the interceptors of all programs share.
type common struct {
	record *recording // nil: nothing is recorded
	replay *recording // nil: the network is used
	ca     *authority

	// roots verify hosts; nil is the system's.
	roots *x509.CertPool

	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup // Serve
}

// New returns an Interceptor that puts secrets in, which may be nil.
func New(s *Secrets) (*Interceptor, error) {
	ca, err := newAuthority()
	i := &Interceptor{&common{ca: ca}, s.begin(nil)}
	i.ctx, i.end = context.WithCancel(context.Background())
	return i, err
}

// Begin returns the interceptor of one program, with placeholders of its own: those of
// was, which an earlier program of its session had, or new ones. The programs of a
// recording share its placeholders.
func (i *Interceptor) Begin(was map[string]string) netpolicy.Interceptor {
	if i.StandIns() {
		return i
	}
	return &Interceptor{i.common, i.secrets.begin(was)}
}

// Root returns the certificate that programs must trust, as PEM.
func (i *Interceptor) Root() []byte { return i.ca.pem }

// Environment returns the variables that programs get: the placeholders.
func (i *Interceptor) Environment() map[string]string { return i.secrets.environment() }

// StandIns reports whether names get addresses that stand for them, so that a
// program sees the same while it is recorded and replayed.
func (i *Interceptor) StandIns() bool { return i.record != nil || i.replay != nil }

// Offline reports whether nothing is connected to.
func (i *Interceptor) Offline() bool { return i.replay != nil }

// Wants reports whether connections to a host and port are served here.
func (i *Interceptor) Wants(host string, port uint16) bool {
	return i.StandIns() || i.secrets.has(host, port)
}

// Bounds of waiting.
const (
	firstByte  = 2 * time.Second // a program that speaks HTTP begins
	handshake  = 30 * time.Second
	idleClient = 5 * time.Minute
)

// session is one connection of a program.
type session struct {
	*Interceptor
	ctx    context.Context
	host   string // as the policy has it
	name   string // as the program calls it
	port   uint16
	secure bool
	dial   func(context.Context) (net.Conn, error)
	refuse func(what string)

	in      *bufio.Reader // from the program
	inMeter *metered
	out     net.Conn // to it

	up      net.Conn // nil: not connected yet
	upIn    *bufio.Reader
	upMeter *metered
}

// Serve serves a connection of a program, and closes it. Dial makes the real one;
// refuse is told what a recording does not have.
func (i *Interceptor) Serve(ctx context.Context, c net.Conn, host string, port uint16, dial func(context.Context) (net.Conn, error), refuse func(what string)) {
	i.work.Add(1)
	defer i.work.Done()
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(i.ctx, cancel)()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	s := &session{Interceptor: i, ctx: ctx, host: host, name: host, port: port, dial: dial, refuse: refuse}
	s.listenTo(c)
	defer func() {
		if s.up != nil {
			s.up.Close()
		}
	}()
	_ = c.SetReadDeadline(time.Now().Add(firstByte))
	first, err := s.in.Peek(1)
	_ = c.SetReadDeadline(time.Time{})
	switch {
	case err == nil && first[0] == 0x16: // a TLS record with a handshake
		if err := s.terminate(); err != nil {
			return
		}
	case err != nil && !isTimeout(err):
		return
	case err != nil || first[0] < 'A' || first[0] > 'Z':
		s.passOn()
		return
	}
	for s.exchange() {
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// terminate ends the program's TLS.
func (s *session) terminate() error {
	config := &tls.Config{NextProtos: []string{"http/1.1"}, GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := strings.ToLower(strings.TrimSuffix(h.ServerName, "."))
		if name == "" || name == s.name {
			return s.ca.certificate(s.name)
		}
		if s.secrets.has(s.host, s.port) {
			// Who else has the host's address must not get its secrets.
			return nil, fmt.Errorf("the name %s is not %s", name, s.host)
		}
		s.name = name
		return s.ca.certificate(name)
	}}
	c := tls.Server(buffered{s.out, s.in}, config)
	ctx, cancel := context.WithTimeout(s.ctx, handshake)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		return err
	}
	s.listenTo(c)
	s.secure = true
	return nil
}

// listenTo sets the program's connection.
func (s *session) listenTo(c net.Conn) {
	s.inMeter = &metered{c, math.MaxInt64}
	s.in, s.out = bufio.NewReader(s.inMeter), c
}

// buffered is a connection of which something was read already.
type buffered struct {
	net.Conn
	r io.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// connect connects to the host, by TLS if the program did.
func (s *session) connect() error {
	if s.up != nil {
		return nil
	}
	c, err := s.dial(s.ctx)
	if err != nil {
		return err
	}
	if s.secure {
		t := tls.Client(c, &tls.Config{ServerName: s.name, RootCAs: s.roots, NextProtos: []string{"http/1.1"}})
		ctx, cancel := context.WithTimeout(s.ctx, handshake)
		defer cancel()
		if err := t.HandshakeContext(ctx); err != nil {
			c.Close()
			return err
		}
		c = t
	}
	s.upMeter = &metered{c, math.MaxInt64}
	context.AfterFunc(s.ctx, func() { c.Close() })
	s.up, s.upIn = c, bufio.NewReader(s.upMeter)
	return nil
}

// passOn copies a protocol that is not HTTP.
func (s *session) passOn() {
	if s.replay != nil {
		s.refuse(fmt.Sprintf("the recording has nothing but HTTP, and %s:%d is sent something else", s.host, s.port))
		return
	}
	if s.connect() != nil {
		return
	}
	go func() {
		_, _ = io.Copy(s.up, s.in)
		if half, ok := s.up.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
			s.up.Close()
		}
	}()
	_, _ = io.Copy(s.out, s.upIn)
}

// url returns the URL of a request.
func (s *session) url(req *http.Request) string {
	scheme, port := "http", "80"
	if s.secure {
		scheme, port = "https", "443"
	}
	host := s.name
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := strconv.Itoa(int(s.port)); p != port {
		host += ":" + p
	}
	return scheme + "://" + host + req.URL.RequestURI()
}
