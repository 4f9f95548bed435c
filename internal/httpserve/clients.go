package httpserve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/server"
	"coderunner/internal/server/queue"
)

const (
	// maxClients bounds the clients that are remembered; clientTime is how long one
	// is that does nothing. What is then forgotten is what its last runs left; its
	// sessions are on disk.
	maxClients = 1000
	clientTime = time.Hour
)

// clients are those that have been served lately.
type clients struct {
	o     Options
	key   []byte
	queue *queue.Queue
	kept  *server.Kept
	board *board

	mu    sync.Mutex
	known map[string]*client
	ends  context.Context // nil: not yet
}

// client is one with its server.
type client struct {
	name   string
	server *server.Server
	used   time.Time
	users  int // requests
}

func newClients(o Options, key []byte, b *board) *clients {
	if o.MCP.Concurrency <= 0 {
		o.MCP.Concurrency = queue.DefaultPlaces(o.MCP.Limits.WithDefaults().Memory)
	}
	return &clients{o: o, key: key, queue: queue.New(o.MCP.Concurrency, several(o)), kept: &server.Kept{}, board: b, known: map[string]*client{}}
}

// several reports whether there may be more than one client.
func several(o Options) bool {
	return o.Issuer != "" || slices.ContainsFunc(o.Tokens, func(t Token) bool { return t.Client != o.Tokens[0].Client })
}

// maxTimeout returns how long a program of a client may take at most: what the shortest of
// its tokens says, or else what all clients have.
func maxTimeout(o Options, name string) (most time.Duration) {
	for _, t := range o.Tokens {
		if t.Client == name && t.MaxTimeout > 0 && (most == 0 || t.MaxTimeout < most) {
			most = t.MaxTimeout
		}
	}
	return cmp.Or(most, o.MaxTimeout)
}

// enter returns the client of a token. The caller leaves it.
func (c *clients) enter(t Token) (*client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := t.Client
	x := c.known[name]
	if x == nil {
		c.sweep()
		if len(c.known) >= maxClients {
			return nil, errors.New("there are too many clients; try again later")
		}
		made, err := c.open(name)
		if err != nil {
			return nil, err
		}
		if c.ends != nil {
			made.Drain(c.ends)
		}
		x = &client{name: name, server: made}
		c.known[name] = x
	}
	x.users++
	return x, nil
}

// open makes the server of a client.
func (c *clients) open(name string) (*server.Server, error) {
	config := c.o.MCP
	config.Client, config.Queue, config.Kept, config.SessionKey = name, c.queue, c.kept, c.key
	config.Log = c.o.MCP.Log.With(zap.String("client", name))
	config.Limits.MaxTimeout = maxTimeout(c.o, name)
	config.Observe = c.board.observe(name)
	config.Packages, config.Compiled = nil, nil // the cache has what other clients installed
	if c.o.Sessions != nil {
		var err error
		if config.Sessions, err = c.o.Sessions(name); err != nil {
			return nil, fmt.Errorf("open its sessions: %w", err)
		}
	}
	return server.New(config)
}

// drain tells all clients that the server ends, at the latest when ctx is done.
func (c *clients) drain(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = ctx
	for _, x := range c.known {
		x.server.Drain(ctx)
	}
}

func (c *clients) leave(x *client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x.users--
	x.used = time.Now()
}

// sweep forgets the clients that have not been there for long, and the one that was
// away longest if there are too many. c.mu is held.
func (c *clients) sweep() {
	var oldest *client
	for name, x := range c.known {
		switch {
		case x.users > 0 || x.server.Waits():
		case time.Since(x.used) > clientTime:
			delete(c.known, name)
			x.server.Forget()
		case oldest == nil || x.used.Before(oldest.used):
			oldest = x
		}
	}
	if len(c.known) >= maxClients && oldest != nil {
		delete(c.known, oldest.name)
		oldest.server.Forget()
	}
}

// counts returns how many clients there are, their sessions and requests.
func (c *clients) counts() (clients, sessions, requests int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.known {
		s, r := x.server.Streams()
		sessions, requests = sessions+s, requests+r
	}
	return len(c.known), sessions, requests
}

// places returns how many programs run at once at most.
func (c *clients) places() int { return c.o.MCP.Concurrency }

func (c *clients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, x := range c.known {
		delete(c.known, name)
		x.server.Forget()
	}
}
