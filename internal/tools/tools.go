// Package tools lets programs call the tools of other MCP servers: it implements
// [runners.Tools]. It joins the configuration, the connections, the catalog of names and
// signatures, and the gate, which knows none of the others.
//
// Every client has connections of its own, since servers keep state; a run has its budgets and
// what its user has decided.
//
// # Locking
//
// Set.mu guards the map of servers; server.mu what was made of a list of tools. Neither is held
// while a server is asked.
package tools

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/tools/catalog"
	"coderunner/internal/tools/config"
	"coderunner/internal/tools/connect"
	"coderunner/internal/tools/gate"
	"coderunner/runners"
)

// idleTime is how long a server runs that nobody calls.
const idleTime = 5 * time.Minute

// maxProcesses bounds the servers that run, of all clients.
const maxProcesses = 100

// Options are what a Set needs.
type Options struct {
	Version string // of this program
	Tokens  string // directory of the tokens of OAuth
	Shapes  string // directory of the shapes of results that were seen; "": they are not kept
	Log     *zap.Logger
}

// Set is the servers of a configuration. Its methods are safe for concurrent use.
type Set struct {
	gate    *gate.Gate
	options connect.Options
	configs []config.Server // sorted by the names that programs use
	names   []string        // which these are
	log     *zap.Logger
	shapes  string // directory

	mu      sync.Mutex
	servers map[key]*server
	closed  bool
}

// key names the connection of a client to a server.
type key struct{ client, server string }

// Open returns the servers of a configuration. None is started.
func Open(c *config.Config, o Options) *Set {
	s := &Set{
		gate: gate.New(c.Policy), log: o.Log, shapes: o.Shapes, servers: map[key]*server{}, configs: slices.Clone(c.Servers),
		options: connect.Options{Version: o.Version, Log: o.Log, Secrets: &connect.Secrets{}, Tokens: o.Tokens, Idle: idleTime, Room: make(chan struct{}, maxProcesses)},
	}
	s.names = catalog.Unique(s.configs, func(c config.Server) string { return catalog.SafeServer(c.Name) })
	for _, name := range c.LeftOut {
		o.Log.Info("a server of tools is left out: it is this program", zap.String("server", name))
	}
	return s
}

// Names returns the servers' names as programs use them.
func (s *Set) Names() []string { return slices.Sorted(slices.Values(s.names)) }

// Close stops all servers.
func (s *Set) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	all := s.servers
	s.servers = map[key]*server{}
	s.mu.Unlock()
	var stopped sync.WaitGroup
	for _, each := range all {
		stopped.Go(each.conn.Close)
	}
	stopped.Wait()
}

// Login gets a token for a server.
func (s *Set) Login(ctx context.Context, name string, open func(page string)) error {
	each, err := s.server("", name)
	if err != nil {
		return err
	}
	return each.conn.Login(ctx, open)
}

// server returns a client's connection to a server, by either of its names.
func (s *Set) server(client, name string) (*server, error) {
	i := slices.Index(s.names, name)
	if i < 0 {
		i = slices.IndexFunc(s.configs, func(c config.Server) bool { return c.Name == name })
	}
	if i < 0 {
		known := "there are " + strings.Join(s.Names(), ", ")
		if len(s.names) == 0 {
			known = "there is none"
		}
		return nil, &runners.ToolError{Code: "not_found", Message: fmt.Sprintf("there is no server %q; %s", runners.Clip(name, 100), runners.Clip(known, 500))}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{client, s.names[i]}
	if s.servers[k] == nil {
		c := connect.New(s.configs[i], s.options)
		if s.closed {
			c.Close()
		}
		g := s.gate.For(client)
		s.servers[k] = &server{set: s, gate: g, name: s.names[i], conn: c, places: make(chan struct{}, g.Parallel), file: s.shapesFile(client, s.names[i])}
		s.servers[k].recall()
	}
	return s.servers[k], nil
}

// Run is a run whose program calls tools, or a person who does.
type Run struct {
	Client, Session string
	Ask             AskFunc // nil: nobody can be asked
	Pause           *Pause  // nil: the program cannot be paused

	// Span, if not nil, is told of each call, and what it returns of its end: "ok", or the code
	// of the error.
	Span func(server, tool string) (ended func(status string))

	// Elicit asks the user what a server asks in a call, as MCP has it: the parameters and the
	// result of elicitation/create. Nil: nobody can be asked, and servers are told so.
	Elicit func(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error)
}

// Question is what a user is asked before a call.
type Question struct {
	Server, Tool string
	Arguments    string // JSON, cut where it is long
	Line         int    // of the program; 0: not known
}

// AskFunc asks the user about a call: whether it is allowed, and whether that holds for the
// tool in the whole run.
type AskFunc func(ctx context.Context, q Question) (allow, always bool, err error)

// For returns the tools as a run has them.
func (s *Set) For(r Run) *Tools {
	return &Tools{set: s, run: r, counts: s.gate.For(r.Client).Run(), asking: make(chan struct{}, 1), decided: map[string]bool{}, log: s.log.With(
		zap.String("client", r.Client), zap.String("session", r.Session), zap.String("run", rand.Text()[:8]))}
}

// Tools are the tools of one run. They implement [runners.Tools].
type Tools struct {
	set    *Set
	run    Run
	counts *gate.Run
	log    *zap.Logger

	asking  chan struct{}   // has the token of whoever asks the user
	decided map[string]bool // tools that the user has decided about for the run; of who has the token
}

// Calls returns how many calls there were.
func (t *Tools) Calls() int { return t.counts.Calls() }

// Servers is for [runners.Tools].
func (t *Tools) Servers() []string { return t.set.Names() }

// List is for [runners.Tools].
func (t *Tools) List(ctx context.Context, name string) ([]runners.Tool, error) {
	s, err := t.set.server(t.run.Client, name)
	if err != nil {
		return nil, err
	}
	return s.list(ctx)
}

// Search is for [runners.Tools].
func (t *Tools) Search(ctx context.Context, words string) ([]runners.Tool, error) {
	return t.SearchIn(ctx, t.Servers(), words)
}

// SearchIn is Search in some of the servers. One that cannot be asked has no tools, unless none
// can.
func (t *Tools) SearchIn(ctx context.Context, names []string, words string) ([]runners.Tool, error) {
	lists, errs := make([][]runners.Tool, len(names)), make([]error, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() { lists[i], errs[i] = t.List(ctx, name) })
	}
	asked.Wait()
	if failed := slices.IndexFunc(errs, func(err error) bool { return err != nil }); failed >= 0 && !slices.Contains(errs, nil) {
		return nil, errs[failed]
	}
	return catalog.Search(slices.Concat(lists...), words), nil
}

// Describe is for [runners.Tools].
func (t *Tools) Describe(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "Servers: " + strings.Join(t.Servers(), ", "), nil
	}
	if s, err := t.set.server(t.run.Client, name); err == nil {
		return s.describe(ctx)
	}
	_, tool, err := t.find(ctx, name)
	if err != nil {
		return "", err
	}
	return catalog.Describe(tool.Tool), nil
}

// Stub is for [runners.Tools].
func (t *Tools) Stub(ctx context.Context, name, ending string) (string, error) {
	list, err := t.List(ctx, name)
	if err != nil {
		return "", err
	}
	return catalog.Stub(name, list, ending)
}

// find returns a tool by the names that programs use or by those of the configuration and the
// server.
func (t *Tools) find(ctx context.Context, name string) (*server, *tool, error) {
	var unknown error
	for i := range len(name) {
		if name[i] != '.' {
			continue
		}
		s, err := t.set.server(t.run.Client, name[:i])
		if err == nil {
			each, err := s.find(ctx, name[i+1:])
			return s, each, err
		}
		unknown = cmp.Or(unknown, err) // the name of a server may have a dot
	}
	if unknown != nil {
		return nil, nil, unknown
	}
	return nil, nil, &runners.ToolError{Code: "not_found", Message: fmt.Sprintf("%q is not the name of a tool: write server.tool", runners.Clip(name, 100))}
}
