package server

import "github.com/mark3labs/mcp-go/mcp"

// listen serves subscriptions/listen. Nothing that the server offers is
// announced when it changes, so it acknowledges no kind of notification and
// ends the stream, as the protocol has it for an empty filter. The library
// would send the acknowledgement with an id of its own spelling.
func (c *conn) listen(m *message) mcp.JSONRPCMessage {
	stream := map[string]any{mcp.MetaKeySubscriptionID: m.ID}
	_ = c.write(mcp.JSONRPCNotification{
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: mcp.MethodNotificationSubscriptionsAcknowledged,
			Params: mcp.NotificationParams{Meta: stream, AdditionalFields: map[string]any{"notifications": mcp.SubscriptionFilter{}}},
		},
	})
	return mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Result: map[string]any{"_meta": stream, "resultType": mcp.ResultTypeComplete}}
}
