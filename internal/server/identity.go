package server

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/zap"

	"coderunner/internal/lazyregexp"
)

//go:embed icon.png
var icon []byte // 48 by 48

// identity is what clients show of the server and how long they may keep what
// it lists. The tool's description may change as packages become reachable.
func identity() []mcpserver.ServerOption {
	const keep = 5 * time.Minute
	options := []mcpserver.ServerOption{
		mcpserver.WithTitle("Code Runner"),
		mcpserver.WithDescription("Runs Python, JavaScript and TypeScript with any package, and bash, in a sandbox"),
		mcpserver.WithIcons(mcp.Icon{Src: "data:image/png;base64," + base64.StdEncoding.EncodeToString(icon), MIMEType: "image/png", Sizes: []string{"48x48"}}),
		mcpserver.WithInstructions("Use " + toolName + " to compute, check, parse, convert and plot instead of guessing: it runs a whole program, installs what it imports, and returns its output, its last value, its plots and the files it writes. Files and long output are resources (runner://runs/…) that can be read, and handed to the next program in `files`. The resource " + environmentURI + " lists versions, limits, permissions and cached packages."),
	}
	for _, method := range []mcp.MCPMethod{mcp.MethodServerDiscover, mcp.MethodToolsList, mcp.MethodResourcesTemplatesList} {
		options = append(options, mcpserver.WithMethodCacheHints(method, keep.Milliseconds(), mcp.CacheScopePrivate))
	}
	return options
}

var traceparent = lazyregexp.New(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceparent returns the W3C trace context that a request carries, if any.
func (p *params) traceparent() (value string, ok bool) {
	ok = p != nil && json.Unmarshal(p.Meta["traceparent"], &value) == nil && traceparent.MatchString(value)
	return value, ok
}

// trace returns a field of the log with it.
func (p *params) trace() zap.Field {
	if value, ok := p.traceparent(); ok {
		return zap.String("traceparent", value)
	}
	return zap.Skip()
}
