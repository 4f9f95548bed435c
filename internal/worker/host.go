package worker

import (
	"context"
	"io"

	"coderunner/internal/netpolicy"
	"coderunner/internal/worker/wire"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python"
	"coderunner/runners/python/install"
	"coderunner/runners/python/process"
	"coderunner/runners/python/resolver"
)

// host is, in a worker, what the server does for its runs. Calls of a run go over the run's
// connection, those of the runtime over the worker's.
type host struct {
	own     *wire.Conn
	refusal string
}

var _ python.Host = (*host)(nil)

// connKey is the context's key of a run.
type connKey struct{}

func (h *host) conn(ctx context.Context) *wire.Conn {
	if r, ok := ctx.Value(connKey{}).(*childRun); ok {
		return r.conn
	}
	return h.own
}

func (h *host) find(ctx context.Context, q find) (path string, err error) {
	_, err = h.conn(ctx).Call(ctx, callFind, q, &path)
	return path, err
}

// File implements [pyodide.Store].
func (h *host) File(ctx context.Context, kind, key string, _ func(context.Context, io.Writer) error) (string, error) {
	return h.find(ctx, find{Kind: kind, Key: key})
}

// Dir implements [pyodide.Store].
func (h *host) Dir(ctx context.Context, kind, key string, _ func(context.Context, string) error) (string, error) {
	return h.find(ctx, find{Dir: true, Kind: kind, Key: key})
}

// Hold implements [python.Host]: the server holds what a run finds until that has ended.
func (h *host) Hold(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

// Runtime implements [python.Host].
func (h *host) Runtime(ctx context.Context) (dir string, err error) {
	_, err = h.conn(ctx).Call(ctx, callRuntime, struct{}{}, &dir)
	return dir, err
}

// guest is for engine.Config.Ask.
func (h *host) guest(ctx context.Context, name string) error {
	_, err := h.conn(ctx).Call(ctx, callGuest, name, nil)
	return err
}

// Prepare implements [python.Host].
func (h *host) Prepare(ctx context.Context, q resolver.Request) (*resolver.Set, error) {
	set := &resolver.Set{}
	if len(q.Requirements)+len(q.Optional) == 0 {
		return set, nil
	}
	_, err := h.conn(ctx).Call(ctx, callPrepare, q, set)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return set, err
}

// Refusal implements [python.Host]. The policy is the server's.
func (h *host) Refusal(runners.Policy) string { return h.refusal }

// BaseUnreachable implements [python.Host].
func (h *host) BaseUnreachable() (why string) {
	_, _ = h.own.Call(context.Background(), callBase, struct{}{}, &why)
	return why
}

// Indexed implements [python.Host].
func (h *host) Indexed(ctx context.Context, project string) (is bool) {
	_, _ = h.conn(ctx).Call(ctx, callIndexed, project, &is)
	return is
}

// Library implements [python.Host].
func (h *host) Library(ctx context.Context, name string, b []byte) error {
	_, err := h.conn(ctx).Call(ctx, callLibrary, library{name, b}, nil)
	return err
}

// Part implements [python.Host].
func (h *host) Part(ctx context.Context, module []byte) (part pyodide.Part, err error) {
	_, err = h.conn(ctx).Call(ctx, callPart, module, &part)
	return part, err
}

// compile is for pyodide.Config.Compile.
func (h *host) compile(ctx context.Context, dir string, memory int64) error {
	_, err := h.conn(ctx).Call(ctx, callCompile, compile{dir, memory}, nil)
	return err
}

// Compile implements [python.Host].
func (h *host) Compile(ctx context.Context, packages []resolver.Package, modules []string, _ runners.ProgressFunc) error {
	installed := map[string]resolver.Package{}
	for _, p := range packages {
		installed[p.Name] = p
	}
	var bytecode map[string][]string // by project
	_, err := h.conn(ctx).Call(ctx, callModules, snapshot{modules, install.State{Installed: installed}}, &bytecode)
	for i, p := range packages {
		packages[i].Bytecode = bytecode[p.Name]
	}
	return err
}

// Snapshot implements [python.Host].
func (h *host) Snapshot(ctx context.Context, modules []string, installed install.State) (failed bool) {
	_, _ = h.conn(ctx).Call(ctx, callSnapshot, snapshot{modules, installed}, &failed)
	return failed
}

// Network implements [python.Host].
func (h *host) Network(ctx context.Context, ask netpolicy.AskFunc, i netpolicy.Interceptor) process.Network {
	conn := h.conn(ctx)
	if x, ok := i.(*intercepted); ok {
		_, _ = conn.Call(ctx, callIntercept, x.variables, &x.variables)
	}
	if r, ok := ctx.Value(connKey{}).(*childRun); ok && ask != nil {
		r.ask.Store(&ask)
	}
	return &network{conn, ask != nil}
}
