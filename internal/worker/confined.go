package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"coderunner/internal/worker/wire"
	"coderunner/runners"
	"coderunner/runners/python"
	"coderunner/runners/python/install"
	"coderunner/runners/python/resolver"
)

// A pool runs the code of packages, too: each job in a worker that has no client, and ends with
// the job.
var _ python.Confined = (*Pool)(nil)

// require is [resolver.Sdist.Require].
type require = func(ctx context.Context, requirements []string) ([]string, error)

// packageMemory is what the code of packages may have, in bytes.
const packageMemory = 1 << 30

// Snapshot implements [python.Confined].
func (p *Pool) Snapshot(ctx context.Context, modules []string, installed install.State, f *os.File) error {
	return p.confined(ctx, nil, func(ctx context.Context, c *wire.Conn) error {
		if err := c.Note(noteOutput, nil, f); err != nil {
			return err
		}
		_, err := c.Call(ctx, callTake, snapshot{modules, installed}, nil)
		return err
	})
}

// Build implements [python.Confined].
func (p *Pool) Build(ctx context.Context, s resolver.Sdist) (name string, wheel []byte, err error) {
	var b built
	err = p.confined(ctx, s.Require, func(ctx context.Context, c *wire.Conn) error {
		_, err := c.Call(ctx, callBuild, sdist{s.Filename, s.Data}, &b)
		return err
	})
	if err != nil {
		return "", nil, err
	}
	return b.Name, b.Wheel, nil
}

// confined calls a worker of its own.
func (p *Pool) confined(ctx context.Context, install require, call func(context.Context, *wire.Conn) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	w, err := start(ctx, p)
	if err != nil {
		return err
	}
	w.confined.Store(true)
	if install != nil {
		w.require.Store(&install)
	}
	s := &served{w: w, req: runners.Request{Limits: runners.Limits{Memory: packageMemory}}}
	p.mu.Lock()
	w.runs[s] = true
	p.mu.Unlock()
	w.busy <- struct{}{} // nobody else has it
	stop := context.AfterFunc(ctx, func() { w.end("cancelled") })
	err = call(ctx, w.conn)
	stop()
	w.end("") // which changes no reason that there is
	<-w.died
	p.leave(w, s)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, wire.ErrClosed) && w.why() == memoryReason && install != nil:
		return &resolver.BuildError{Reason: fmt.Sprintf("its build takes more than %d MiB of memory", packageMemory>>20)}
	case errors.Is(err, wire.ErrClosed):
		return fmt.Errorf("the process that ran code of packages ended: %s %w", w.why(), err)
	}
	return err
}

// take makes a snapshot.
func (w *child) take(ctx context.Context, body []byte) error {
	var q snapshot
	f := w.output.Swap(nil)
	if f == nil {
		return errors.New("a snapshot without a file")
	}
	defer f.Close()
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	w.limit(packageMemory)
	return w.python.TakeSnapshot(ctx, q.Modules, q.Installed, f)
}

// build builds the wheel of an sdist.
func (w *child) build(ctx context.Context, body []byte) (b built, err error) {
	var q sdist
	if err := json.Unmarshal(body, &q); err != nil {
		return b, err
	}
	w.limit(packageMemory)
	b.Name, b.Wheel, err = w.python.Build(ctx, resolver.Sdist{
		Filename: q.Filename, Data: q.Data, Require: func(ctx context.Context, texts []string) (dirs []string, err error) {
			_, err = w.conn.Call(ctx, callRequire, texts, &dirs)
			return dirs, err
		},
	})
	return b, err
}
