package runners

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Tools are the functions of other servers that a program may call. Names are those that
// programs use: "github.create_issue". All methods are safe for concurrent use; whoever
// implements them keeps policy, budgets and secrets, so that there is one gate for all
// languages.
type Tools interface {
	// Servers returns the names of the servers, sorted, without starting any.
	Servers() []string

	// List returns what a server offers, and starts it if it must.
	List(ctx context.Context, server string) ([]Tool, error)

	// Search returns the tools of all servers that fit a few words, the best first.
	Search(ctx context.Context, words string) ([]Tool, error)

	// Describe returns what a program's author must know of a server or a tool, as text:
	// signature, parameters, an example, the shape of the result.
	Describe(ctx context.Context, name string) (string, error)

	// Stub returns the declarations of a server's tools: ".pyi" or ".d.ts".
	Stub(ctx context.Context, server, ending string) (string, error)

	// Call calls a tool. The error is a *[ToolError] where the program should see it.
	Call(ctx context.Context, call ToolCall) (*ToolResult, error)

	// Read returns the contents of a resource that a result has linked to.
	Read(ctx context.Context, server, uri string) (*ToolResult, error)
}

// The bounds of what a program sends, in bytes. Whoever implements [Tools] refuses more by
// [ToolCall.Check] and CheckURI.
const (
	MaxToolArguments = 4 << 20
	maxToolURI       = 8 << 10
)

// Tool is one function of a server.
type Tool struct {
	Server      string          `json:"server"`
	Name        string          `json:"name"`   // without the server's
	Native      string          `json:"native"` // as the server has it
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`            // JSON Schema of the arguments, an object
	Output      json.RawMessage `json:"output,omitempty"` // JSON Schema of the structured result; learned, if Learned
	Learned     bool            `json:"learned,omitempty"`
	Policy      string          `json:"policy"` // "allow" or "ask"; what is denied is not listed
}

// ToolCall is a call of a tool by a program.
type ToolCall struct {
	Tool      string          `json:"tool"`      // "server.name"
	Arguments json.RawMessage `json:"arguments"` // an object
	Line      int             `json:"line,omitempty"`

	// Parks reports that the program can be parked if nobody consents to the call yet, and makes
	// it again when it goes on: the error's code is [Parks] then.
	Parks bool `json:"parks,omitempty"`

	// Progress, if not nil, gets what the tool reports.
	Progress func(done, total float64, message string) `json:"-"`
}

// Check returns a *[ToolError] for arguments that no tool gets.
func (c ToolCall) Check() error {
	if len(c.Arguments) > MaxToolArguments {
		return &ToolError{"bad_arguments", fmt.Sprintf("the arguments have %d bytes, and a call takes %d at most", len(c.Arguments), MaxToolArguments)}
	}
	return nil
}

// CheckURI returns a *[ToolError] for the URI of a resource that is not read.
func CheckURI(uri string) error {
	if len(uri) > maxToolURI {
		return &ToolError{"bad_arguments", fmt.Sprintf("the URI has %d bytes, and at most %d are sent", len(uri), maxToolURI)}
	}
	return nil
}

// ToolResult is what a tool returned.
type ToolResult struct {
	Structured json.RawMessage `json:"structured,omitempty"`
	Content    []ToolContent   `json:"content,omitempty"`
}

// ToolContent is a part of a result: text, an image or sound, an embedded resource, or a link
// to one.
type ToolContent struct {
	Type string `json:"type"` // "text", "image", "audio", "resource", "resource_link"
	Text string `json:"text,omitempty"`
	Data []byte `json:"data,omitempty"`
	MIME string `json:"mime,omitempty"`
	URI  string `json:"uri,omitempty"`
	Name string `json:"name,omitempty"`
}

// Size returns how many bytes the contents have.
func (r *ToolResult) Size() int {
	n := len(r.Structured)
	for _, c := range r.Content {
		n += len(c.Text) + len(c.Data) + len(c.URI) + len(c.Name) + len(c.MIME)
	}
	return n
}

// Value returns the text as JSON: as it is if it is an object or a list, else as a string. A
// number stays text, for it may be a version.
func (c ToolContent) Value() json.RawMessage {
	if t := strings.TrimSpace(c.Text); t != "" && (t[0] == '{' || t[0] == '[') && json.Valid([]byte(t)) {
		return json.RawMessage(t)
	}
	quoted, _ := json.Marshal(c.Text) // it never fails
	return quoted
}

// ToolError is a call that did not succeed, as the program sees it.
type ToolError struct {
	Code    string `json:"code"` // "denied", "bad_arguments", "not_found", "failed", "unavailable", "timeout", "budget", "unknown"
	Message string `json:"message"`
}

// Parks is the code of the error of a [ToolCall] that has the program parked.
const Parks = "parks"

func (e *ToolError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }
