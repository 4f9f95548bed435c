package server

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// appURI is the page that shows results in hosts that know the extension "MCP Apps"
// (SEP-1865).
const appURI = "ui://coderunner/result"

//go:embed app
var appFiles embed.FS

// appPage returns the page, which loads nothing.
func appPage() (string, error) {
	page, err := appFiles.ReadFile("app/page.html")
	text := string(page)
	for _, part := range []struct{ mark, name string }{{"/* style.css */", "style.css"}, {"// chart.js", "chart.js"}, {"// app.js", "app.js"}} {
		var data []byte
		if err == nil {
			data, err = appFiles.ReadFile("app/" + part.name)
		}
		text = strings.Replace(text, part.mark, string(data), 1)
	}
	return text, err
}

// addApp adds the page. It is not listed: a tool's metadata names it.
func addApp(s *mcpserver.MCPServer, hooks *mcpserver.Hooks) error {
	page, err := appPage()
	if err != nil {
		return err
	}
	meta := map[string]any{"ui": map[string]any{"prefersBorder": true}}
	contents := []mcp.ResourceContents{mcp.TextResourceContents{URI: appURI, MIMEType: appMIME, Text: page, Meta: meta}}
	s.AddResource(mcp.NewResource(appURI, "result", mcp.WithMIMEType(appMIME)),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) { return contents, nil })
	hooks.AddAfterListResources(func(_ context.Context, _ any, _ *mcp.ListResourcesRequest, list *mcp.ListResourcesResult) {
		list.Resources = slices.DeleteFunc(list.Resources, func(r mcp.Resource) bool { return r.URI == appURI })
	})
	return nil
}

// withApp names the page in tools/list for clients that show pages.
func withApp(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	if !showsApps(clientCapabilities(ctx)) {
		return tools
	}
	tools = slices.Clone(tools)
	for i := range tools {
		if tools[i].Name == toolName {
			tools[i].Meta = &mcp.Meta{AdditionalFields: map[string]any{"ui": map[string]any{"resourceUri": appURI}}}
		}
	}
	return tools
}
