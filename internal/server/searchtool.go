package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/tools"
	"coderunner/runners"
)

func (s *Server) searchTool() extraTool {
	return extraTool{
		name: "search_tools", title: "Search tools of other servers", readOnly: true, idempotent: true,
		description: "Finds tools of other MCP servers, which a program of run_code calls as functions (the same as tools.search and tools.describe there).",
		required:    []string{"query"},
		properties: object{
			"query":  described("Words of the tool's name or description."),
			"server": described("Search only this server."),
			"detail": object{"type": "string", "enum": []string{"names", "describe"}, "description": "names (default): a line for each tool; describe: its parameters, an example and the shape of its result."},
		},
		do: s.doSearchTools,
	}
}

func (s *Server) doSearchTools(ctx context.Context, a *arguments) (*mcp.CallToolResult, error) {
	query, server, detail := a.text("query"), a.text("server"), a.text("detail")
	if detail != "" && detail != "names" && detail != "describe" {
		a.fail("detail", "is %q, but must be names or describe.", runners.Clip(detail, 100))
	}
	if a.err != nil {
		return nil, a.err
	}
	t := s.config.Tools.For(tools.Run{Client: s.config.Client})
	servers := t.Servers()
	if server != "" {
		servers = []string{server}
	}
	found, err := t.SearchIn(ctx, servers, query)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return textBlock("No tool has these words in its name or description. Servers: %s", strings.Join(t.Servers(), ", ")), nil
	}
	var b strings.Builder
	for _, each := range found {
		name := each.Server + "." + each.Name
		text := fmt.Sprintf("%s: %s\n", name, tools.Summary(each))
		if detail == "describe" {
			if text, err = t.Describe(ctx, name); err != nil {
				return nil, err
			}
			text += "\n"
		}
		b.WriteString(text)
	}
	return textBlock("%s", runners.Clip(b.String(), maxListText)), nil
}
