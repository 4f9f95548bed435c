package server

import (
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// contentDroppers are clients that show the model no content blocks, images
// among them, when there is structured content: anthropics/claude-code#54737,
// openai/codex#38287, anomalyco/opencode#32868 (until #34505).
var contentDroppers = []string{"claude-code", "codex", "opencode"}

// structured reports whether the client of a request gets structured content.
func (s *Server) structured(ctx context.Context) bool {
	switch s.config.Structured {
	case StructuredAlways:
		return true
	case StructuredNever:
		return false
	}
	name := clientName(ctx)
	return !slices.ContainsFunc(contentDroppers, func(c string) bool { return strings.HasPrefix(name, c) })
}

// withoutSchema leaves the schema of answers out of tools/list for clients that have no use for it.
func (s *Server) withoutSchema(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	if s.structured(ctx) {
		return tools
	}
	tools = slices.Clone(tools)
	for i := range tools {
		tools[i].RawOutputSchema = nil
	}
	return tools
}
