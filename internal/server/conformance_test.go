package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"coderunner/internal/conformance"
)

// TestConformance lets the protocol's own suite test the server: the road of a
// message through http.go, message.go, subscriptions.go and the MCP library, and the
// tools and resources that the suite asks for in place of ours. testdata/conformance names what
// is expected to fail, and the suite fails when one of these passes.
func TestConformance(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long")
	}
	for _, suite := range conformance.Suites {
		t.Run(suite.Name(), func(t *testing.T) {
			s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
			addFixtures(s)
			front := httptest.NewServer(s)
			defer front.Close()
			passed := conformance.Run(t, front.URL+"/mcp", suite, filepath.Join("testdata", "conformance", suite.Name()+".yaml"))
			if passed < 15 {
				t.Errorf("%d scenarios passed", passed)
			}
		})
	}
}

// addFixtures adds the tools and resources that the suite asks for.
func addFixtures(s *Server) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
	resource := func(uri, mime, text string) mcp.Content {
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: text})
	}
	for name, blocks := range map[string][]mcp.Content{
		"test_simple_text":            {mcp.NewTextContent("This is a simple text response for testing.")},
		"test_image_content":          {mcp.NewImageContent(png, "image/png")},
		"test_audio_content":          {mcp.NewAudioContent(wav, "audio/wav")},
		"test_embedded_resource":      {resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {mcp.NewTextContent("Multiple content types test:"), mcp.NewImageContent(png, "image/png"), resource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)},
		"test_error_handling":         {mcp.NewTextContent("This tool intentionally returns an error for testing")},
		"test_tool_with_progress":     {mcp.NewTextContent("done")},
		"test_logging_tool":           {mcp.NewTextContent("logged nothing")},
		"test_streaming_elicitation":  {mcp.NewTextContent("asked nothing")},
	} {
		s.mcp.AddTool(mcp.NewTool(name, mcp.WithDescription("of the suite")), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if notify := notifierFrom(ctx); notify != nil && name == "test_tool_with_progress" {
				for i := range 3 {
					notify(float64(i*50), "step")
				}
			}
			return &mcp.CallToolResult{Content: blocks, IsError: name == "test_error_handling"}, nil
		})
	}
	s.mcp.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "of the suite", json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("ok"), nil
		})
	read := func(c mcp.ResourceContents) mcpserver.ResourceHandlerFunc {
		return func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{c}, nil
		}
	}
	s.mcp.AddResource(mcp.NewResource("test://static-text", "text", mcp.WithMIMEType("text/plain")),
		read(mcp.TextResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."}))
	s.mcp.AddResource(mcp.NewResource("test://static-binary", "binary", mcp.WithMIMEType("image/png")),
		read(mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: png}))
	s.mcp.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			ids, _ := r.Params.Arguments["id"].([]string)
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true}`, slices.Concat(ids, []string{""})[0])}}, nil
		})
}
