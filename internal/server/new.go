package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

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
		config:   c,
		streams:  streams{key: c.SessionKey, open: map[string]*stream{}, ended: map[string]bool{}},
		watchdog: watchdog{log: c.Log},
		parked:   parked{byState: map[string]*parkedRun{}, most: max(1, c.Concurrency-1), log: c.Log}, // others find a place
	}
	s.ending.ctx, s.ending.cancel = context.WithCancel(context.Background())
	s.ending.over, s.ending.end = context.WithCancel(context.Background())
	hooks := &mcpserver.Hooks{}
	s.mcp = mcpserver.NewMCPServer(c.Name, c.Version, append(identity(),
		mcpserver.WithToolCapabilities(false),
		mcpserver.WithResourceCapabilities(false, false),
		mcpserver.WithExtensions(map[string]any{appExtension: map[string]any{}}),
		mcpserver.WithHooks(hooks))...)
	s.describe(hooks, c)
	s.store = &store{prefix: strings.ToLower(rand.Text()[:4]), mcp: s.mcp, shared: c.Kept}
	s.properties = inputSchema(c)["properties"].(object)
	tool, err := newTool(c)
	if err != nil {
		return nil, err
	}
	s.mcp.AddTool(tool, s.handle)
	s.mcp.AddResources(environmentResource(c, &s.used))
	if err := s.addExtraTools(); err != nil {
		return nil, err
	}
	return s, addApp(s.mcp, hooks)
}

// describe has lists of tools say what depends on the client and on what is installed. Filters
// of mcp-go would do that before each call, too.
func (s *Server) describe(hooks *mcpserver.Hooks, c Config) {
	parts := []func(context.Context, []mcp.Tool) []mcp.Tool{s.withoutSchema, withApp, describeCompiled(c), s.describeAsk(c)}
	hooks.AddAfterListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
		for _, describe := range parts {
			result.Tools = describe(ctx, result.Tools)
		}
	})
}

// addExtraTools offers the tools and the files of sessions, if there is a store, and search_tools
// if that is wanted.
func (s *Server) addExtraTools() error {
	var list []extraTool
	if s.config.Sessions != nil {
		list = append(s.fileTools(), s.sessionsTool())
		s.addSessionFiles()
	}
	if s.config.Tools != nil && s.config.SearchTools {
		list = append(list, s.searchTool())
	}
	for _, t := range list {
		in, err := json.Marshal(object{"type": "object", "additionalProperties": false, "required": t.required, "properties": t.properties})
		if err != nil {
			return fmt.Errorf("marshal the schema of %s: %w", t.name, err)
		}
		s.mcp.AddTool(mcp.Tool{
			Name: t.name, Title: t.title, Description: t.description, RawInputSchema: in,
			Annotations: mcp.ToolAnnotation{
				Title: t.title, ReadOnlyHint: mcp.ToBoolPtr(t.readOnly), DestructiveHint: mcp.ToBoolPtr(!t.readOnly),
				IdempotentHint: mcp.ToBoolPtr(t.idempotent), OpenWorldHint: mcp.ToBoolPtr(false),
			},
		}, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, t), nil
		})
	}
	return nil
}
