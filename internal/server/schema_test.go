package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// The library checks arguments with internal/jsonschema, which go.mod has instead of the
// library's own choice. No tool of ours asks it to.
func TestLibraryChecksArguments(t *testing.T) {
	s := mcpserver.NewMCPServer("test", "1", mcpserver.WithInputSchemaValidation(), mcpserver.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("f", mcp.WithNumber("n", mcp.Required())), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("called"), nil
	})
	for args, want := range map[string]string{
		`{"n": 1}`:   "called",
		`{"n": "1"}`: "input schema validation failed",
		`{}`:         "input schema validation failed",
	} {
		answer, err := json.Marshal(s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","arguments":`+args+`}}`)))
		if err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %s, %v; want %q", args, answer, err, want)
		}
	}
}
