package server

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// endedStream returns what subscriptions/listen is answered with. Nothing that the
// server offers is announced when it changes, so it acknowledges no kind of
// notification and ends the stream, as the protocol has it for an empty filter.
// The library would spell the id its own way.
func endedStream(id json.RawMessage) (acknowledged mcp.JSONRPCNotification, end mcp.JSONRPCMessage) {
	about := map[string]any{mcp.MetaKeySubscriptionID: id}
	acknowledged = mcp.JSONRPCNotification{
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: mcp.MethodNotificationSubscriptionsAcknowledged,
			Params: mcp.NotificationParams{Meta: about, AdditionalFields: map[string]any{"notifications": mcp.SubscriptionFilter{}}},
		},
	}
	return acknowledged, mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Result: map[string]any{"_meta": about, "resultType": mcp.ResultTypeComplete}}
}
