// Package connect keeps connections to tool servers: it starts a server at its first use,
// stops it when it is idle, and restarts it, after a while, when it has died.
//
// A server is not trusted: what it sends is bounded in size and number before it is kept,
// and it never gets more of the environment than its configuration names. It has no policy.
// The protocol is spoken by mcp-go's client; results are read here from the bytes that came,
// since that client keeps only a part of schemas.
//
// # Locking
//
// Server.mu is not held while anything waits.
//
// # Limits
//
// Of the requests of a server to its client, elicitation is passed on; sampling and roots are
// refused: no such capability is declared.
package connect

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/tools/config"
	"coderunner/runners"
)

// Bounds of a server.
const (
	maxMessage = 16 << 20 // bytes of one message
	maxFlood   = 64 << 20 // bytes that come without a call

	startTime = 2 * time.Minute // for the first start of a package, which is downloaded
	listTime  = 30 * time.Second
	writeTime = 20 * time.Second // for a server to read a request
	stopTime  = 500 * time.Millisecond
	maxWait   = time.Minute // between two starts that fail
	// freshFor is how long a list of tools is believed of a server that cannot tell us of a
	// change.
	freshFor = time.Minute
)

// Options are what all servers have in common.
type Options struct {
	Version string // of this program
	Log     *zap.Logger
	Secrets *Secrets
	Tokens  string        // directory of the tokens of OAuth
	Idle    time.Duration // after which an unused server is stopped
	Room    chan struct{} // has one for each process
}

// Server is one server. Its methods are safe for concurrent use.
type Server struct {
	config.Server
	o   Options
	log *zap.Logger

	mu        sync.Mutex // guards what follows
	conn      *conn      // nil: not started
	starting  chan struct{}
	failed    error     // of the last start
	failures  int       // in a row
	notBefore time.Time // the next start
	users     int       // of conn
	idle      *time.Timer
	tools     []Tool
	listed    time.Time // of conn; zero: not
	closed    bool
	api       *api // nil: not read
}

// New returns a server that is not started. The caller closes it.
func New(s config.Server, o Options) *Server {
	o.Secrets.addServer(s)
	return &Server{Server: s, o: o, log: o.Log.With(zap.String("server", s.Name))}
}

// unavailable is the error of a server that cannot be used.
func (s *Server) unavailable(format string, args ...any) error {
	return &runners.ToolError{Code: "unavailable", Message: s.Name + ": " + s.o.Secrets.Redact(runners.Clip(fmt.Sprintf(format, args...), maxError))}
}

// maxError bounds what an error repeats of a server's words, in bytes.
const maxError = 4000

// acquire returns a connection, and starts the server if it must. The caller releases it.
func (s *Server) acquire(ctx context.Context) (*conn, error) {
	if s.Err != nil {
		return nil, s.unavailable("%v", s.Err)
	}
	for {
		s.mu.Lock()
		switch wait := time.Until(s.notBefore); {
		case s.closed:
			s.mu.Unlock()
			return nil, s.unavailable("this program ends")
		case s.conn != nil && s.conn.ctx.Err() == nil:
			s.users++
			if s.idle != nil {
				s.idle.Stop()
			}
			c := s.conn
			s.mu.Unlock()
			return c, nil
		case s.starting == nil && wait > 0:
			err := s.failed
			s.mu.Unlock()
			return nil, s.unavailable("%v; it is started again in %v at the earliest", err, wait.Round(time.Second)+time.Second)
		case s.starting == nil:
			s.starting = make(chan struct{})
			go s.start()
		}
		started := s.starting
		s.mu.Unlock()
		select {
		case <-started:
		case <-ctx.Done():
			return nil, s.ended(ctx)
		}
	}
}

// start connects, for all that wait for it.
func (s *Server) start() {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	begun := time.Now()
	c, err := s.connect(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.starting)
	s.starting = nil
	switch {
	case err != nil:
		s.fail(err)
		s.log.Warn("a server of tools does not start", zap.String("error", s.o.Secrets.Redact(err.Error())), zap.Int64("ms", time.Since(begun).Milliseconds()))
	case s.closed:
		go c.close(nil)
	default:
		s.conn, s.users, s.listed = c, 0, time.Time{}
		s.log.Info("a server of tools has started", zap.Int64("ms", time.Since(begun).Milliseconds()))
		go s.watch(c)
	}
}

// fail notes a start that failed, or a connection that did not last until a call ended: the
// next start is later each time. The caller holds s.mu.
func (s *Server) fail(err error) {
	s.failed = err
	s.notBefore = time.Now().Add(min(maxWait, time.Second<<min(s.failures, 10)))
	s.failures++
}

// watch notes the end of a connection.
func (s *Server) watch(c *conn) {
	<-c.ctx.Done()
	reason := context.Cause(c.ctx)
	if reason == context.Canceled {
		return // we closed it
	}
	s.log.Warn("a server of tools has ended", zap.String("error", s.o.Secrets.Redact(reason.Error())))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return
	}
	s.conn = nil
	if !c.proved.Load() {
		s.fail(reason)
	}
}

// release gives a connection back. Only an answer proves that a server works.
func (s *Server) release(c *conn, answered bool) {
	if answered {
		c.proved.Store(true)
		if c.flood != nil {
			c.flood.Store(0)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return
	}
	if answered {
		s.failures, s.notBefore = 0, time.Time{}
	}
	if s.users--; s.users > 0 {
		return
	}
	s.idle = time.AfterFunc(s.o.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.conn == c && s.users == 0 {
			s.conn = nil
			go c.close(nil)
		}
	})
}

// Close stops the server and waits for its end.
func (s *Server) Close() {
	s.mu.Lock()
	c := s.conn
	s.closed, s.conn = true, nil
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	if c != nil {
		c.close(nil)
	}
}

// ended is the error of a call whose context is done.
func (s *Server) ended(ctx context.Context) error {
	if ctx.Err() == context.DeadlineExceeded {
		return &runners.ToolError{Code: "timeout", Message: s.Name + ": no answer in time"}
	}
	return context.Cause(ctx)
}

// conn is a connection that has been initialized.
type conn struct {
	*session
	ctx    context.Context // ends with the connection, for a reason
	cancel context.CancelCauseFunc
	end    sync.Once
	stop   func()
	tells  bool // when the server's tools change
	proved atomic.Bool
	stale  atomic.Bool   // the server has said that its tools changed
	flood  *atomic.Int64 // bytes since the last answer; nil: over HTTP
}

// close ends the connection for a reason, nil if it is ours, and returns when the server has
// stopped.
func (c *conn) close(reason error) {
	c.end.Do(func() {
		c.cancel(reason)
		c.stop()
	})
}
