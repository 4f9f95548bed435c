package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"coderunner/internal/worker/wire"
	"coderunner/runners"
	"coderunner/runners/python"
	"coderunner/runners/python/install"
	"coderunner/runners/python/resolver"
)

// A pool runs the code of packages, too: each job in a worker that has no client, and ends with
// the job.
var _ python.Confined = (*Pool)(nil)

// job is what a worker may call for the code of packages that it runs, by method.
type job map[uint8]func(ctx context.Context, body []byte) (any, error)

// packageMemory is what the code of packages may have, in bytes, and so what each interpreter
// that compiles their sources may.
const packageMemory = 1 << 30

// errMemory is the error of a job that takes more memory than it may.
var errMemory = errors.New("the code of packages takes more memory than it may have")

// Snapshot implements [python.Confined].
func (p *Pool) Snapshot(ctx context.Context, modules []string, installed install.State, f *os.File) error {
	return p.confined(ctx, packageMemory, nil, func(ctx context.Context, c *wire.Conn) error {
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
	err = p.confined(ctx, packageMemory, job{callRequire: func(ctx context.Context, body []byte) (any, error) {
		var requirements []string
		if err := json.Unmarshal(body, &requirements); err != nil {
			return nil, err
		}
		return s.Require(ctx, requirements)
	}}, func(ctx context.Context, c *wire.Conn) error {
		_, err := c.Call(ctx, callBuild, sdist{s.Filename, s.Data}, &b)
		return err
	})
	if errors.Is(err, errMemory) {
		err = &resolver.BuildError{Reason: fmt.Sprintf("its build takes more than %d MiB of memory", packageMemory>>20)}
	}
	if err != nil {
		return "", nil, err
	}
	return b.Name, b.Wheel, nil
}

// Compile implements [python.Confined]. A worker may say of each module once that it begins, and
// once what it has become.
func (p *Pool) Compile(ctx context.Context, trees, modules []string, workers int, emit func(module string, pyc []byte) error, begins func(module string)) error {
	workers = min(cmp.Or(workers, runtime.GOMAXPROCS(0)), maxCompilers)
	var mu sync.Mutex
	var bytes int
	begun, emitted := map[string]bool{}, map[string]bool{} // false: not yet
	for _, module := range modules {
		begun[module], emitted[module] = false, false
	}
	first := func(of map[string]bool, module string) error {
		if done, known := of[module]; done || !known {
			return fmt.Errorf("no module %.100q is to be compiled", module)
		}
		of[module] = true
		return nil
	}
	return p.confined(ctx, int64(workers)*packageMemory, job{callCompiled: func(_ context.Context, body []byte) (any, error) {
		var c compiled
		if err := json.Unmarshal(body, &c); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if c.Code == nil {
			if err := first(begun, c.Module); err != nil {
				return nil, err
			}
			begins(c.Module)
			return nil, nil
		}
		if err := first(emitted, c.Module); err != nil {
			return nil, err
		}
		if bytes += len(c.Code); bytes > maxBytecode {
			return nil, fmt.Errorf("more than %d MiB of bytecode", maxBytecode>>20)
		}
		return nil, emit(c.Module, c.Code)
	}}, func(ctx context.Context, c *wire.Conn) error {
		_, err := c.Call(ctx, callSources, sources{trees, modules, workers}, nil)
		return err
	})
}

// Bounds of compiling sources: interpreters in the worker, and bytes of what they make.
const (
	maxCompilers = 4
	maxBytecode  = 512 << 20
)

// confined calls a worker of its own.
func (p *Pool) confined(ctx context.Context, memory int64, j job, call func(context.Context, *wire.Conn) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	w, err := start(ctx, p)
	if err != nil {
		return err
	}
	w.job.Store(&j)
	s := &served{w: w, req: runners.Request{Limits: runners.Limits{Memory: memory}}}
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
	case errors.Is(err, wire.ErrClosed) && w.why() == memoryReason:
		return errMemory
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
	t, err := w.trusted(ctx, packageMemory)
	if err != nil {
		return b, err
	}
	b.Name, b.Wheel, err = t.Build(ctx, resolver.Sdist{
		Filename: q.Filename, Data: q.Data, Require: func(ctx context.Context, texts []string) (dirs []string, err error) {
			_, err = w.conn.Call(ctx, callRequire, texts, &dirs)
			return dirs, err
		},
	})
	return b, err
}

// compile compiles sources of packages.
func (w *child) compile(ctx context.Context, body []byte) error {
	var q sources
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	t, err := w.trusted(ctx, int64(q.Workers)*packageMemory)
	if err != nil {
		return err
	}
	tell := func(module string, pyc []byte) error {
		_, err := w.conn.Call(ctx, callCompiled, compiled{module, pyc}, nil)
		return err
	}
	return t.Compile(ctx, q.Trees, q.Modules, q.Workers, tell, func(module string) { _ = tell(module, nil) })
}

// trusted returns the interpreters for what may have so much memory.
func (w *child) trusted(ctx context.Context, memory int64) (resolver.Trusted, error) {
	w.limit(memory)
	return w.python.Trusted(ctx)
}
