// Package httpserve serves MCP to many clients over HTTP: it listens, asks who a
// client is, keeps clients apart and shows operators what happens.
//
// It knows nothing of MCP's messages: each client has a [server.Server] of its own,
// with its own sessions, files and requests, and all of them share the places in
// which programs run, which a [queue.Queue] hands out.
//
//	/mcp                       MCP's Streamable HTTP
//	/                          what runs and what waits, for a person (status.go, page/)
//	/metrics                   for Prometheus (metrics.go)
//	/healthz, /readyz          for whoever starts and stops servers; the only ones without a token
//	/.well-known/oauth-protected-resource/mcp   RFC 9728, where an issuer is configured
//
// A request passes guard.go (Host, Origin, sizes, times), auth.go (who is it) and
// clients.go (its server).
//
// # Locking
//
// clients.mu guards the table of clients and is never held while one is served.
// board.mu guards the table of runs.
//
// # Testing
//
// Real connections to a server with fake runners; cmd/coderunner has the scripts
// against the real binary, other people's clients, load balancers and the soak.
package httpserve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/semaphore"

	"coderunner/internal/inflight"
	"coderunner/internal/server"
	"coderunner/internal/session"
)

// Options configure a server.
type Options struct {
	Addr            string // host and port to listen on
	TLSCert, TLSKey string // files in PEM; "": no TLS
	// Plaintext allows other addresses than loopback without TLS, for a proxy in
	// front that has it.
	Plaintext bool
	Hosts     []string // names by which the server may be called, besides addresses and localhost
	Origins   []string // whose pages may call it: https://example.com
	Tokens    []Token
	Issuer    string // URL of an authorization server whose JWTs are taken; "": none
	Resource  string // URL of this server's /mcp, which is the audience of these JWTs
	Drain     time.Duration
	// MaxTimeout is how long a program may take whose token says nothing; 0: an hour.
	MaxTimeout time.Duration

	// MCP is what the servers of all clients have in common, Sessions opens the
	// sessions of one.
	MCP      server.Config
	Sessions func(client string) (*session.Store, error)
	// Ready, if not nil, returns why no programs can be run yet.
	Ready func() error
	// Cache, if not nil, describes the cache for the status page.
	Cache func(context.Context) string
}

const (
	// maxConnections bounds the connections at a time; more wait to be accepted.
	maxConnections = 4096
	// maxHeader bounds the headers of a request, in bytes.
	maxHeader = 64 << 10
	// headerTime is how long they may take to come, idleTime how long a connection
	// may be idle.
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	// bodyTime is how long a body may take.
	bodyTime = time.Minute
	// maxBodies bounds the bytes of requests that are in memory.
	maxBodies = 512 << 20
	// cancelGrace is how long calls may take to stop when they are cancelled at the end.
	cancelGrace = time.Second
)

// Server serves HTTP. [Listen] makes it.
type Server struct {
	o        Options
	log      *zap.Logger
	listener net.Listener
	tls      *tls.Config // nil: none
	auth     *auth
	clients  *clients
	board    *board
	tracer   *tracer
	metrics  *metrics
	bodies   *semaphore.Weighted
	begun    time.Time
	grace    time.Duration // cancelGrace, but in tests

	lastRefusal atomic.Int64   // when a refused token was last logged
	work        inflight.Group // requests of /mcp
	draining    atomic.Bool
}

// CheckAddr returns an error unless addr has a host, perhaps an empty one, and a port.
func CheckAddr(addr string) error {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return nil
	}
	port := "8000"
	if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
		port = addr
	}
	return fmt.Errorf("%q is not an address with a port, such as 127.0.0.1:%s", addr, port)
}

// Listen checks the options and opens the port. The caller calls Serve.
func Listen(ctx context.Context, o Options) (*Server, error) {
	o.MCP.Log = cmp.Or(o.MCP.Log, zap.NewNop())
	s := &Server{o: o, log: o.MCP.Log, begun: time.Now(), grace: cancelGrace, bodies: semaphore.NewWeighted(maxBodies)}
	var err error
	if s.auth, err = newAuth(o); err != nil {
		return nil, err
	}
	if o.Resource != "" {
		if u, err := url.Parse(o.Resource); err == nil {
			s.o.Hosts = append(s.o.Hosts, u.Hostname())
		}
	}
	if o.TLSCert != "" || o.TLSKey != "" {
		if s.tls, err = loadTLS(o.TLSCert, o.TLSKey); err != nil {
			return nil, fmt.Errorf("serve HTTP: %w", err)
		}
	}
	if s.tracer, err = newTracer(o.MCP.Version, os.Getenv, s.log); err != nil {
		return nil, err
	}
	s.board = &board{tracer: s.tracer, runs: map[*run]bool{}}
	s.clients = newClients(o, s.auth.key, s.board)
	s.metrics = newMetrics(s)
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", o.Addr); err != nil {
		return nil, fmt.Errorf("serve HTTP: %w", err)
	}
	if local, ok := s.listener.Addr().(*net.TCPAddr); ok && !local.IP.IsLoopback() && s.tls == nil {
		if !o.Plaintext {
			s.listener.Close()
			return nil, fmt.Errorf("serve HTTP: %s can be reached from other machines, and without TLS anybody between can read tokens and programs: "+
				"set --tls-cert and --tls-key, or --http-plaintext if a proxy in front has TLS, or listen on 127.0.0.1", local)
		}
		s.log.Warn("HTTP without TLS on an address that other machines reach: tokens and programs are readable between here and the proxy", zap.Stringer("address", local))
	}
	s.listener = netutil.LimitListener(s.listener, maxConnections)
	return s, nil
}

// URL returns where MCP is served.
func (s *Server) URL() string {
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	return scheme + "://" + s.listener.Addr().String() + "/mcp"
}

// Serve serves until ctx is done. It then begins no more calls, waits for those in
// progress up to Options.Drain, cancels the rest, and returns when they have
// stopped, or server.ErrStillRunning after a short grace.
func (s *Server) Serve(ctx context.Context) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	h := &http.Server{
		Handler: s.handler(), TLSConfig: s.tls, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    zap.NewStdLog(s.log.WithOptions(zap.IncreaseLevel(zap.ErrorLevel))), // handshakes that fail are others' mistakes
	}
	served := make(chan error, 1)
	go func() {
		if s.tls != nil {
			served <- h.ServeTLS(s.listener, "", "")
		} else {
			served <- h.Serve(s.listener)
		}
	}()
	var err error
	select {
	case err = <-served: // the listener is broken
	case <-ctx.Done():
	}
	limit, stop := context.WithTimeout(context.WithoutCancel(ctx), s.o.Drain)
	defer stop()
	if err == nil {
		s.draining.Store(true)
		s.clients.drain(limit)
		s.work.Wait(limit)
	}
	if shut := h.Shutdown(limit); shut != nil {
		s.log.Warn("calls are cancelled: they did not end in time", zap.Duration("drain", s.o.Drain))
		cancel(errors.New("the server is ending"))
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
		defer stop()
		if shut = h.Shutdown(last); shut != nil {
			err = errors.Join(err, server.ErrStillRunning)
		}
	}
	closed := make(chan struct{})
	go func() { s.clients.close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(s.grace):
		err = errors.Join(err, server.ErrStillRunning)
	}
	s.tracer.close()
	return err
}

// handler routes requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("/mcp", s.cors(s.authenticated(bearer, s.bounded(http.HandlerFunc(s.mcp)))))
	mux.Handle("GET "+metricsPath, s.authenticated(bearerOrBasic, s.metrics.handler()))
	mux.Handle("GET /{$}", s.authenticated(bearerOrBasic, http.HandlerFunc(s.page)))
	mux.Handle("GET /status.json", s.authenticated(bearerOrBasic, http.HandlerFunc(s.status)))
	if h, path := s.auth.metadata(); h != nil {
		mux.Handle(path, h)
		mux.Handle(strings.TrimSuffix(path, "/mcp"), h)
	}
	return s.watched(s.guarded(mux))
}

// ready answers /readyz.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	var err error
	if s.draining.Load() {
		err = errors.New("the server is ending")
	} else if s.o.Ready != nil {
		err = s.o.Ready()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// mcp hands a request to its client's server.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) {
	defer s.work.Begin()()
	if s.draining.Load() {
		w.Header().Set("Connection", "close") // the next request goes to another server, if there is one
	}
	c, err := s.clients.enter(tokenOf(r))
	if err != nil {
		s.log.Error("serve a client", zap.Error(err))
		http.Error(w, "The server cannot serve this client: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.clients.leave(c)
	c.server.ServeHTTP(w, r)
}
