package server

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/runners"
)

const (
	maxCompiled     = 14                     // packages that the description names
	maxCompiledText = 240                    // bytes
	waitForCompiled = 500 * time.Millisecond // of the first tools/list
)

// describeCompiled returns a filter of tools/list that adds to the description
// of run_code which compiled packages are here. They are looked up once, while
// the client shakes hands; a list that is asked for before goes without.
func describeCompiled(look func(context.Context) []string) func(context.Context, []mcp.Tool) []mcp.Tool {
	found := make(chan struct{})
	var text string
	go func() {
		defer close(found)
		names := look(context.Background())
		if n := min(len(names), maxCompiled); n > 0 {
			text = "\nCompiled Python packages that are here: " + runners.Clip(strings.Join(names[:n], ", "), maxCompiledText) + "."
		}
	}()
	return func(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
		select {
		case <-found:
		case <-ctx.Done():
			return tools
		case <-time.After(waitForCompiled):
			return tools
		}
		tools = slices.Clone(tools)
		for i := range tools {
			if tools[i].Name == toolName && len(tools[i].Description)+len(text) <= maxDescription {
				tools[i].Description += text
			}
		}
		return tools
	}
}
