package server

import (
	"crypto/rand"
	"errors"
	"fmt"

	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/zap"

	"coderunner/runners"
)

// New makes a server. It holds nothing that must be closed.
func New(c Config) (*Server, error) {
	for l := range c.Runners {
		if runners.ParseLanguage(string(l)) != l {
			return nil, fmt.Errorf("offer language %s: not known", l)
		}
	}
	if len(c.Runners) == 0 {
		return nil, errors.New("offer run_code: no runner")
	}
	c = c.withDefaults()
	s := &Server{
		runners: c.Runners,
		limits:  c.Limits,
		queue:   c.Queue,
		client:  c.Client,
		observe: c.Observe,
		log:     c.Log,
		streams: streams{key: c.SessionKey, open: map[string]*stream{}, ended: map[string]bool{}},

		watchdog:  watchdog{log: c.Log},
		structure: c.Structured,
		ask:       c.Ask,
		sessions:  c.Sessions,

		parked: parked{byState: map[string]*parkedRun{}, most: max(1, c.Concurrency-1)}, // others find a place
	}
	hooks := &mcpserver.Hooks{}
	s.mcp = mcpserver.NewMCPServer(c.Name, c.Version, append(identity(),
		mcpserver.WithToolCapabilities(false),
		mcpserver.WithResourceCapabilities(false, false),
		mcpserver.WithToolFilter(s.withoutSchema),
		mcpserver.WithToolFilter(withApp),
		mcpserver.WithExtensions(map[string]any{appExtension: map[string]any{}}),
		mcpserver.WithHooks(hooks))...)
	if c.Compiled != nil || c.Missing != nil {
		mcpserver.WithToolFilter(describeCompiled(c))(s.mcp)
	}
	mcpserver.WithToolFilter(s.describeAsk(c))(s.mcp)
	s.store = newStore(s.mcp, c.Kept)
	s.properties = inputSchema(c)["properties"].(object)
	tool, err := newTool(c)
	if err != nil {
		return nil, err
	}
	s.mcp.AddTool(tool, s.handle)
	s.addEnvironment(c)
	if err := s.addSessionTools(); err != nil {
		return nil, err
	}
	return s, s.addApp(hooks)
}

// withDefaults returns the configuration with what may be absent.
func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	c.Limits = c.Limits.WithDefaults()
	if c.Concurrency <= 0 {
		c.Concurrency = DefaultConcurrency(c.Limits.Memory)
	}
	if c.Queue == nil {
		c.Queue = NewQueue(c.Concurrency)
	}
	if c.Kept == nil {
		c.Kept = &Kept{}
	}
	if len(c.SessionKey) == 0 {
		c.SessionKey = []byte(rand.Text())
	}
	return c
}
