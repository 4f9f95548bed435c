package toolbox

import (
	"context"

	"coderunner/runners"
)

// Remote is the tools of a run in another process, whose [Box] answers queries: result is a
// pointer to what Do returns there.
type Remote func(ctx context.Context, q Query, result any) error

var _ runners.Tools = Remote(nil)

// Servers implements [runners.Tools].
func (r Remote) Servers() (names []string) {
	_ = r(context.Background(), Query{Op: "servers"}, &names)
	return names
}

// List implements [runners.Tools].
func (r Remote) List(ctx context.Context, server string) ([]runners.Tool, error) {
	return asked[[]runners.Tool](ctx, r, Query{Op: "list", Name: server})
}

// Search implements [runners.Tools].
func (r Remote) Search(ctx context.Context, words string) ([]runners.Tool, error) {
	return asked[[]runners.Tool](ctx, r, Query{Op: "search", Name: words})
}

// Describe implements [runners.Tools].
func (r Remote) Describe(ctx context.Context, name string) (string, error) {
	return asked[string](ctx, r, Query{Op: "describe", Name: name})
}

// Stub implements [runners.Tools].
func (r Remote) Stub(ctx context.Context, server, ending string) (string, error) {
	return asked[string](ctx, r, Query{Op: "stub", Name: server, Ending: ending})
}

// Call implements [runners.Tools]. Another process that answers reports the progress itself.
func (r Remote) Call(ctx context.Context, c runners.ToolCall) (*runners.ToolResult, error) {
	result, err := asked[runners.ToolResult](ctx, r, Query{Op: "call", Name: c.Tool, Args: c.Arguments, Line: c.Line, Parks: c.Parks, progress: c.Progress})
	return &result, err
}

// Read implements [runners.Tools].
func (r Remote) Read(ctx context.Context, server, uri string) (*runners.ToolResult, error) {
	result, err := asked[runners.ToolResult](ctx, r, Query{Op: "read", Name: server, URI: uri})
	return &result, err
}

func asked[T any](ctx context.Context, r Remote, q Query) (value T, err error) {
	err = r(ctx, q, &value)
	return value, err
}
