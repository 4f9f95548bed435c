package connect

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/tools/openapi"
	"coderunner/runners"
)

// Bounds of what is kept of a server's words.
const (
	maxTools       = 500
	maxPages       = 50
	maxName        = 256      // bytes
	maxDescription = 16 << 10 // bytes
	maxSchema      = 64 << 10 // bytes
	maxContents    = 1000
)

// Tool is a tool as its server describes it.
type Tool struct {
	Name, Title, Description string
	Input, Output            json.RawMessage // JSON Schemas, nil: none, or one that is too large
	ReadOnly                 bool
	AppOnly                  bool // not for programs

	operation *openapi.Operation // nil: of MCP
}

// wireTool is a tool as it comes.
type wireTool struct {
	Name, Title, Description string
	InputSchema              json.RawMessage `json:"inputSchema"`
	OutputSchema             json.RawMessage `json:"outputSchema"`
	Annotations              struct {
		Title        string
		ReadOnlyHint bool `json:"readOnlyHint"`
	}
	Meta struct {
		UI struct{ Visibility []string }
	} `json:"_meta"`
}

// Tools returns what the server offers, as it was listed last unless that is out of date.
func (s *Server) Tools(ctx context.Context) ([]Tool, error) {
	if s.OpenAPI != "" {
		a, err := s.openAPI(ctx)
		if err != nil {
			return nil, err
		}
		return a.tools, nil
	}
	c, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	answered := false
	defer func() { s.release(c, answered) }()
	s.mu.Lock()
	fresh, tools := s.fresh(c), s.tools
	s.mu.Unlock()
	if fresh {
		return tools, nil
	}
	c.stale.Store(false)
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	if tools, err = s.list(ctx, c); err != nil {
		return nil, err
	}
	answered = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.listed = tools, time.Now()
	return tools, nil
}

// fresh reports whether the list of tools is believed. The caller holds s.mu.
func (s *Server) fresh(c *conn) bool {
	return s.conn == c && !s.listed.IsZero() && !c.stale.Load() && (c.tells || time.Since(s.listed) < freshFor)
}

// list asks for all pages.
func (s *Server) list(ctx context.Context, c *conn) (tools []Tool, err error) {
	var request mcp.ListToolsRequest
	for range maxPages {
		var page struct {
			Tools      []json.RawMessage
			NextCursor mcp.Cursor `json:"nextCursor"`
		}
		err := s.request(ctx, c, &page, func(ctx context.Context) error {
			_, err := c.client.ListToolsByPage(ctx, request)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, text := range page.Tools {
			var w wireTool
			if json.Unmarshal(text, &w) != nil {
				continue
			}
			if t, ok := s.offered(w); ok && len(tools) < maxTools {
				tools = append(tools, t)
			}
		}
		if page.NextCursor == "" || page.NextCursor == request.Params.Cursor || len(tools) == maxTools {
			break
		}
		request.Params.Cursor = page.NextCursor
	}
	return tools, nil
}

// offered returns a tool as it is kept, unless it is not to be offered.
func (s *Server) offered(w wireTool) (t Tool, ok bool) {
	if w.Name == "" || len(w.Name) > maxName || slices.Contains(s.Disabled, w.Name) ||
		len(s.Enabled) > 0 && !slices.Contains(s.Enabled, w.Name) {
		return t, false
	}
	words := func(text string) string { return runners.Clip(s.o.Secrets.Redact(text), maxDescription) }
	t = Tool{
		Name: w.Name, Title: words(w.Title), Description: words(w.Description), ReadOnly: w.Annotations.ReadOnlyHint,
		AppOnly: len(w.Meta.UI.Visibility) > 0 && !slices.Contains(w.Meta.UI.Visibility, "model"),
	}
	for _, schema := range []struct {
		from json.RawMessage
		to   *json.RawMessage
	}{{w.InputSchema, &t.Input}, {w.OutputSchema, &t.Output}} {
		if len(schema.from) > 0 && schema.from[0] == '{' && len(schema.from) <= maxSchema {
			*schema.to = json.RawMessage(s.o.Secrets.Redact(string(schema.from)))
		}
	}
	return t, true
}

// Events are what a server sends during a call. A nil function gets nothing.
type Events struct {
	Progress func(done, total float64, message string)
	Elicit   func(params json.RawMessage) (json.RawMessage, error) // asks the user
}

// Call calls a tool. The error is a *[runners.ToolError], or the cause of ctx.
func (s *Server) Call(ctx context.Context, t Tool, arguments json.RawMessage, events Events) (*runners.ToolResult, error) {
	if t.operation != nil {
		return s.callAPI(ctx, t, arguments)
	}
	var result wireResult
	if report := events.Progress; report != nil {
		events.Progress = func(done, total float64, message string) {
			report(done, total, runners.ClipLine(s.o.Secrets.Redact(message), 500))
		}
	}
	err := s.exchange(ctx, t.ReadOnly, &result, func(ctx context.Context, c *conn) error {
		var request mcp.CallToolRequest
		request.Params.Name, request.Params.Arguments = t.Name, arguments
		meta, done := c.follow(events.Progress)
		defer done()
		defer c.asking(events.Elicit)()
		request.Params.Meta = meta
		_, err := c.client.CallTool(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.result(result)
}

// Read reads a resource.
func (s *Server) Read(ctx context.Context, uri string) (*runners.ToolResult, error) {
	var result struct{ Contents []wireResource }
	err := s.exchange(ctx, true, &result, func(ctx context.Context, c *conn) error {
		var request mcp.ReadResourceRequest
		request.Params.URI = uri
		_, err := c.client.ReadResource(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &runners.ToolResult{}
	for _, w := range result.Contents[:min(len(result.Contents), maxContents)] {
		r.Content = append(r.Content, s.resource(w))
	}
	return r, nil
}

// exchange sends one request on a connection. One that a server over HTTP has refused since
// its session has ended is sent again, on a new one.
func (s *Server) exchange(ctx context.Context, harmless bool, into any, send func(context.Context, *conn) error) error {
	for again := false; ; again = true {
		c, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		err = s.request(ctx, c, into, func(ctx context.Context) error { return send(ctx, c) })
		toolError, isError := errors.AsType[*runners.ToolError](err)
		s.release(c, err == nil || isError && toolError.Code == "failed")
		if errors.Is(err, transport.ErrSessionTerminated) && !again {
			continue
		}
		return lost(err, harmless)
	}
}

// request sends a request and decodes the answer.
func (s *Server) request(ctx context.Context, c *conn, into any, send func(context.Context) error) error {
	var r reply
	err := send(context.WithValue(ctx, replyKey{}, &r))
	var input struct{ ResultType string }
	switch {
	case r.err != nil:
		return &runners.ToolError{Code: "failed", Message: s.Name + ": " + s.o.Secrets.Redact(runners.Clip(r.err.Message, maxError))}
	case r.result != nil && json.Unmarshal(r.result, &input) == nil && input.ResultType == string(mcp.ResultTypeInputRequired):
		return &runners.ToolError{Code: "failed", Message: s.Name + ": it asks its user for something, which is not passed on"}
	case r.result != nil:
		if err := json.Unmarshal(r.result, into); err != nil {
			return &runners.ToolError{Code: "failed", Message: s.Name + ": it has answered with what is not a result: " + runners.Clip(err.Error(), 200)}
		}
		return nil
	case ctx.Err() != nil:
		return s.ended(ctx)
	}
	if s.URL != "" {
		if errors.Is(err, transport.ErrSessionTerminated) {
			c.close(err)
			return err
		}
		return s.unavailable("%v", s.explain(err)) // other requests do not depend on this one
	}
	if errors.Is(err, os.ErrDeadlineExceeded) { // it does not read
		c.close(err)
	}
	select { // the reason comes after the end of the transport
	case <-c.ctx.Done():
		return s.unavailable("%v", context.Cause(c.ctx))
	case <-ctx.Done():
		return s.ended(ctx)
	}
}

// wireResult is a result as it comes.
type wireResult struct {
	Content    []wireContent
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

type wireContent struct {
	Type, Text, Data, URI, Name string
	MIME                        string `json:"mimeType"`
	Resource                    wireResource
}

type wireResource struct {
	URI  string
	MIME string `json:"mimeType"`
	Text *string
	Blob string
}

// result makes a result of what came.
func (s *Server) result(w wireResult) (*runners.ToolResult, error) {
	r := &runners.ToolResult{}
	var texts []string
	for _, c := range w.Content[:min(len(w.Content), maxContents)] {
		content := runners.ToolContent{Type: c.Type, MIME: c.MIME, URI: s.o.Secrets.Redact(c.URI), Name: s.o.Secrets.Redact(c.Name)}
		switch c.Type {
		case "text":
			content.Text = s.o.Secrets.Redact(c.Text)
			texts = append(texts, content.Text)
		case "image", "audio":
			content.Data = s.decode(c.Data)
		case "resource":
			content = s.resource(c.Resource)
		case "resource_link":
		default: // of a later revision
			continue
		}
		r.Content = append(r.Content, content)
	}
	if w.IsError {
		return nil, &runners.ToolError{Code: "failed", Message: runners.Clip(strings.Join(texts, "\n"), maxError)}
	}
	if len(w.Structured) > 0 && string(w.Structured) != "null" {
		r.Structured = json.RawMessage(s.o.Secrets.Redact(string(w.Structured)))
	}
	return r, nil
}

func (s *Server) resource(w wireResource) runners.ToolContent {
	c := runners.ToolContent{Type: "resource", URI: s.o.Secrets.Redact(w.URI), MIME: w.MIME}
	if w.Text != nil {
		c.Text = s.o.Secrets.Redact(*w.Text)
	} else {
		c.Data = s.decode(w.Blob)
	}
	return c
}

// decode decodes base64 up to its first mistake, without secrets.
func (s *Server) decode(text string) []byte {
	data, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "=\r\n"))
	return []byte(s.o.Secrets.Redact(string(data)))
}
