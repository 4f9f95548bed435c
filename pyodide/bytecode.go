package pyodide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// CacheTag is part of the names of bytecode files: module.cpython-314.pyc.
const CacheTag = "cpython-314"

// Bytecode compiles Python sources.
type Bytecode struct {
	Tree    fs.FS    // of the sources
	Modules []string // their slash-separated names in Tree
	Shown   string   // the directory shown in tracebacks

	// Emit receives the contents of a .pyc file that is used without checking
	// the source. It is called on several goroutines, one call at a time, and
	// not for a module that does not compile: importing it reports why.
	Emit func(module string, pyc []byte) error

	Progress func(done, total int64) // in modules; may be nil
}

// bytecodeChunk is the number of modules that justifies another interpreter.
const bytecodeChunk = 100

// Bytecode compiles modules without running them, in several interpreters at
// once. A source that kills its interpreter is left out.
func (r *Runtime) Bytecode(ctx context.Context, b Bytecode) error {
	workers := min(runtime.GOMAXPROCS(0), 4, (len(b.Modules)+bytecodeChunk-1)/bytecodeChunk)
	var emit sync.Mutex
	var done atomic.Int64
	j := bytecodeJob{Bytecode: b, rt: r, step: func() {
		if n := done.Add(1); b.Progress != nil {
			emit.Lock()
			defer emit.Unlock()
			b.Progress(n, int64(len(b.Modules)))
		}
	}, emit: func(module string, pyc []byte) error {
		emit.Lock()
		defer emit.Unlock()
		return b.Emit(module, pyc)
	}}
	g, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		// Neighbours are alike, so deal them out to all workers.
		var part []string
		for i := w; i < len(b.Modules); i += workers {
			part = append(part, b.Modules[i])
		}
		g.Go(func() error { return j.run(ctx, part) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("compile modules: %w", err)
	}
	return nil
}

// bytecodeJob is one call of Bytecode.
type bytecodeJob struct {
	Bytecode
	rt   *Runtime
	step func()
	emit func(module string, pyc []byte) error
}

// run compiles modules one after the other, in a new interpreter after one
// that died.
func (j *bytecodeJob) run(ctx context.Context, modules []string) error {
	for len(modules) > 0 {
		begun, err := j.once(ctx, modules)
		if err != nil {
			return err
		}
		modules = modules[begun:]
	}
	return nil
}

// maxBytecode bounds a module's bytecode in base64, in bytes.
const maxBytecode = 16 << 20

// once runs one interpreter and returns how many modules it began.
func (j *bytecodeJob) once(ctx context.Context, modules []string) (begun int, err error) {
	const dir = "/modules"
	source, err := guestFiles.ReadFile("guest/bytecode.py")
	if err != nil {
		return 0, err
	}
	var failed error
	in, err := j.rt.New(ctx, Options{Memory: 1 << 30, Calls: map[string]Call{
		"job": {Do: func(context.Context, json.RawMessage) (any, error) {
			return map[string]any{"folder": dir, "shown": j.Shown, "modules": modules}, nil
		}},
		"begin": {Do: func(context.Context, json.RawMessage) (any, error) {
			begun++
			j.step()
			return nil, nil
		}},
		"compiled": {MaxArgument: maxBytecode, Do: func(_ context.Context, argument json.RawMessage) (any, error) {
			var pyc []byte
			if failed = json.Unmarshal(argument, &pyc); failed == nil {
				failed = j.emit(modules[begun-1], pyc)
			}
			return nil, failed
		}},
	}})
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if err := in.Mount(dir, j.Tree); err != nil {
		return 0, err
	}
	res, err := in.Run(ctx, Program{Code: string(source), Filename: "bytecode.py"})
	switch {
	case failed != nil:
		return 0, failed
	case err != nil:
		return 0, err
	case res.Ended == Cancelled:
		return 0, context.Cause(ctx)
	case res.Exception != nil:
		return 0, errors.New(res.Exception.Traceback)
	case begun == 0:
		return 0, fmt.Errorf("the compiling interpreter %v: %w", res.Ended, errors.Join(res.Cause))
	}
	return begun, nil
}
