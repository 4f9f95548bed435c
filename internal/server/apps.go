package server

import (
	"context"
	"embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// The extension "MCP Apps" (SEP-1865): hosts that know it show a tool's results
// in a page that the server has as a resource.
const (
	appExtension = "io.modelcontextprotocol/ui"
	appMIME      = "text/html;profile=mcp-app"
	appURI       = "ui://coderunner/result"
)

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
func (s *Server) addApp(hooks *mcpserver.Hooks) error {
	page, err := appPage()
	if err != nil {
		return err
	}
	meta := map[string]any{"ui": map[string]any{"prefersBorder": true}}
	contents := []mcp.ResourceContents{mcp.TextResourceContents{URI: appURI, MIMEType: appMIME, Text: page, Meta: meta}}
	s.mcp.AddResource(mcp.NewResource(appURI, "result", mcp.WithMIMEType(appMIME)),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) { return contents, nil })
	hooks.AddAfterListResources(func(_ context.Context, _ any, _ *mcp.ListResourcesRequest, list *mcp.ListResourcesResult) {
		list.Resources = slices.DeleteFunc(list.Resources, func(r mcp.Resource) bool { return r.URI == appURI })
	})
	return nil
}

// withApp is the filter of tools/list for clients that show pages.
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

// showsApps reports whether a client shows pages of the type that ours has.
func showsApps(c mcp.ClientCapabilities) bool {
	settings, ok := c.Extensions[appExtension].(map[string]any)
	types, _ := settings["mimeTypes"].([]any)
	return ok && slices.Contains(types, any(appMIME))
}

// clientCapabilities returns what the client declares: in the request, as
// revision 2026-07-28 has it, or in the handshake.
func clientCapabilities(ctx context.Context) (c mcp.ClientCapabilities) {
	if p := paramsFrom(ctx); p != nil && json.Unmarshal(p.Meta[mcp.MetaKeyClientCapabilities], &c) == nil {
		return c
	}
	if s := peerFrom(ctx); s != nil {
		return s.GetClientCapabilities()
	}
	return c
}
