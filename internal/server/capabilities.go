package server

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// The extension "MCP Apps" (SEP-1865): hosts that know it show a tool's results in a page
// that the server has as a resource.
const (
	appExtension = "io.modelcontextprotocol/ui"
	appMIME      = "text/html;profile=mcp-app"
)

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

// clientName returns the client's name: the request's own, as revision
// 2026-07-28 has it, or that of the handshake.
func clientName(ctx context.Context) string {
	var info mcp.Implementation
	if p := paramsFrom(ctx); p != nil && json.Unmarshal(p.Meta[mcp.MetaKeyClientInfo], &info) == nil {
		return info.Name
	}
	if s := peerFrom(ctx); s != nil {
		return s.GetClientInfo().Name
	}
	return ""
}

// showsApps reports whether a client shows pages of the type that ours has.
func showsApps(c mcp.ClientCapabilities) bool {
	settings, ok := c.Extensions[appExtension].(map[string]any)
	types, _ := settings["mimeTypes"].([]any)
	return ok && slices.Contains(types, any(appMIME))
}

// elicits reports whether a client asks its user what a form asks.
func elicits(c mcp.ClientCapabilities) bool {
	return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}
