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
func (r Remote) List(ctx context.Context, server string) (list []runners.Tool, err error) {
	err = r(ctx, Query{Op: "list", Name: server}, &list)
	return list, err
}

// Search implements [runners.Tools].
func (r Remote) Search(ctx context.Context, words string) (list []runners.Tool, err error) {
	err = r(ctx, Query{Op: "search", Name: words}, &list)
	return list, err
}

// Describe implements [runners.Tools].
func (r Remote) Describe(ctx context.Context, name string) (text string, err error) {
	err = r(ctx, Query{Op: "describe", Name: name}, &text)
	return text, err
}

// Stub implements [runners.Tools].
func (r Remote) Stub(ctx context.Context, server, ending string) (text string, err error) {
	err = r(ctx, Query{Op: "stub", Name: server, Ending: ending}, &text)
	return text, err
}

// Call implements [runners.Tools]. Another process that answers reports the progress itself.
func (r Remote) Call(ctx context.Context, c runners.ToolCall) (*runners.ToolResult, error) {
	return fetched(r, ctx, Query{Op: "call", Name: c.Tool, Args: c.Arguments, Line: c.Line, Parks: c.Parks, progress: c.Progress})
}

// Read implements [runners.Tools].
func (r Remote) Read(ctx context.Context, server, uri string) (*runners.ToolResult, error) {
	return fetched(r, ctx, Query{Op: "read", Name: server, URI: uri})
}

func fetched(r Remote, ctx context.Context, q Query) (*runners.ToolResult, error) {
	result := new(runners.ToolResult)
	err := r(ctx, q, result)
	return result, err
}
