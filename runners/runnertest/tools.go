package runnertest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"coderunner/runners"
)

// Tools are those of a server "demo", for tests of what programs see.
type Tools struct {
	Calls   atomic.Int64 // that were made
	Started atomic.Int64 // how often the server was asked for anything

	Called func(name string) // if not nil, is told of each call

	mu      sync.Mutex
	waiting int
	met     chan struct{} // closed when as many calls of meet wait as it says
}

var _ runners.Tools = (*Tools)(nil)

// NewTools returns tools that nobody has called.
func NewTools() *Tools { return &Tools{met: make(chan struct{})} }

// pixel is a PNG.
var pixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

const anything = `{"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}, "labels": {"anyOf": [{"type": "array"}, {"type": "null"}]}, "from": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "loud": {"type": "boolean"}}}`

// demo has the functions by their names.
var demo = map[string]func(t *Tools, ctx context.Context, c runners.ToolCall) (*runners.ToolResult, error){
	"echo": func(_ *Tools, _ context.Context, c runners.ToolCall) (*runners.ToolResult, error) {
		return &runners.ToolResult{Structured: c.Arguments, Content: saying("the same as text")}, nil
	},
	"line": func(_ *Tools, _ context.Context, c runners.ToolCall) (*runners.ToolResult, error) {
		return &runners.ToolResult{Structured: fmt.Append(nil, c.Line)}, nil
	},
	"text": func(_ *Tools, _ context.Context, c runners.ToolCall) (*runners.ToolResult, error) {
		var args struct{ Text string }
		err := json.Unmarshal(c.Arguments, &args)
		return &runners.ToolResult{Content: saying(args.Text)}, err
	},
	"nothing": func(*Tools, context.Context, runners.ToolCall) (*runners.ToolResult, error) { return nil, nil },
	"mixed": func(*Tools, context.Context, runners.ToolCall) (*runners.ToolResult, error) {
		return &runners.ToolResult{Content: append(saying("a text"), runners.ToolContent{Type: "image", Data: pixel, MIME: "image/png"})}, nil
	},
	"image": func(*Tools, context.Context, runners.ToolCall) (*runners.ToolResult, error) {
		return &runners.ToolResult{Content: []runners.ToolContent{{Type: "image", Data: pixel, MIME: "image/png"}}}, nil
	},
	"link": func(*Tools, context.Context, runners.ToolCall) (*runners.ToolResult, error) {
		return &runners.ToolResult{Content: []runners.ToolContent{{Type: "resource_link", URI: "demo://1", Name: "one", MIME: "text/plain"}}}, nil
	},
	"denied": func(*Tools, context.Context, runners.ToolCall) (*runners.ToolResult, error) {
		return nil, &runners.ToolError{Code: "denied", Message: "the policy has no demo.denied"}
	},
	"broken": func(*Tools, context.Context, runners.ToolCall) (*runners.ToolResult, error) {
		return nil, errors.New("the pipe is broken")
	},
	"big": func(*Tools, context.Context, runners.ToolCall) (*runners.ToolResult, error) {
		return &runners.ToolResult{Content: saying(strings.Repeat("x", 100<<20))}, nil
	},
	"progress": func(_ *Tools, _ context.Context, c runners.ToolCall) (*runners.ToolResult, error) {
		c.Progress(1, 3, "one of three")
		return nil, nil
	},
	// meet returns when as many calls wait as it is told.
	"meet": func(t *Tools, ctx context.Context, c runners.ToolCall) (*runners.ToolResult, error) {
		var args struct{ N int }
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			return nil, err
		}
		t.mu.Lock()
		if t.waiting++; t.waiting == args.N {
			close(t.met)
		}
		t.mu.Unlock()
		select {
		case <-t.met:
			return &runners.ToolResult{Structured: []byte("true")}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	},
	// wait returns when it is cancelled.
	"wait": func(_ *Tools, ctx context.Context, _ runners.ToolCall) (*runners.ToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	},
}

func saying(text string) []runners.ToolContent {
	return []runners.ToolContent{{Type: "text", Text: text}}
}

// Servers implements [runners.Tools].
func (t *Tools) Servers() []string { return []string{"demo"} }

// List implements [runners.Tools].
func (t *Tools) List(_ context.Context, server string) (list []runners.Tool, err error) {
	t.Started.Add(1)
	if server != "demo" {
		return nil, &runners.ToolError{Code: "not_found", Message: "there is no server " + server}
	}
	for name := range demo {
		list = append(list, runners.Tool{Server: "demo", Name: name, Native: name, Description: "The tool " + name + ".\nMore of it.", Input: json.RawMessage(anything), Policy: "allow"})
	}
	slices.SortFunc(list, func(a, b runners.Tool) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Search implements [runners.Tools].
func (t *Tools) Search(ctx context.Context, words string) ([]runners.Tool, error) {
	list, err := t.List(ctx, "demo")
	return slices.DeleteFunc(list, func(t runners.Tool) bool { return !strings.Contains(words, t.Name) }), err
}

// Describe implements [runners.Tools].
func (t *Tools) Describe(_ context.Context, name string) (string, error) {
	t.Started.Add(1)
	if _, ok := demo[strings.TrimPrefix(name, "demo.")]; !ok && name != "demo" {
		return "", &runners.ToolError{Code: "not_found", Message: "there is no tool " + name}
	}
	return "all about " + name, nil
}

// Stub implements [runners.Tools].
func (t *Tools) Stub(_ context.Context, server, ending string) (string, error) {
	t.Started.Add(1)
	return "declarations of " + server + ending + "\n", nil
}

// Call implements [runners.Tools].
func (t *Tools) Call(ctx context.Context, c runners.ToolCall) (*runners.ToolResult, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(c.Arguments, []byte("{")) {
		return nil, &runners.ToolError{Code: "bad_arguments", Message: "the arguments are not an object"}
	}
	t.Calls.Add(1)
	t.Started.Add(1)
	if t.Called != nil {
		t.Called(c.Tool)
	}
	call := demo[strings.TrimPrefix(c.Tool, "demo.")]
	if call == nil {
		return nil, &runners.ToolError{Code: "not_found", Message: "there is no tool " + c.Tool}
	}
	return call(t, ctx, c)
}

// Read implements [runners.Tools].
func (t *Tools) Read(_ context.Context, server, uri string) (*runners.ToolResult, error) {
	t.Started.Add(1)
	return &runners.ToolResult{Content: []runners.ToolContent{{Type: "resource", URI: uri, Text: `{"read": "` + server + " " + uri + `"}`}}}, nil
}
