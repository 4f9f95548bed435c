package pyodide

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Bytecode compiles Python sources.
type Bytecode struct {
	Trees   []fs.FS  // of the sources, merged: the first file of a name counts
	Modules []string // their slash-separated names in Trees
	Shown   string   // the directory shown in tracebacks
	Checked bool     // whether an import compares the source's digest
	Workers int      // interpreters at once, at most; 0: as many as there are cores, up to 4

	// Emit receives the contents of a .pyc file. It is called on several
	// goroutines, one call at a time, and not for a module that does not compile:
	// importing it reports why.
	Emit func(module string, pyc []byte) error

	Begins func(module string) // called for each module, once at a time; may be nil
}

// bytecodeChunk is the number of modules that justifies another interpreter.
const bytecodeChunk = 8

// Bytecode compiles modules without running them, in several interpreters at
// once, each of which takes the next one. A source that kills its interpreter is
// left out.
func (r *Runtime) Bytecode(ctx context.Context, b Bytecode) error {
	j := &bytecodeJob{Bytecode: b, rt: r}
	g, ctx := errgroup.WithContext(ctx)
	for range min(cmp.Or(b.Workers, runtime.GOMAXPROCS(0)), 4, (len(b.Modules)+bytecodeChunk-1)/bytecodeChunk) {
		g.Go(func() error { return j.run(ctx) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("compile modules: %w", err)
	}
	return nil
}

// bytecodeJob is one call of Bytecode.
type bytecodeJob struct {
	Bytecode
	rt *Runtime

	emitting sync.Mutex // apart from mu: meanwhile other interpreters begin modules

	mu    sync.Mutex
	begun int // modules; guarded by mu
}

// next returns the next module, "" after the last, which the caller begins.
func (j *bytecodeJob) next() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.begun == len(j.Modules) {
		return ""
	}
	module := j.Modules[j.begun]
	if j.begun++; j.Begins != nil {
		j.Begins(module)
	}
	return module
}

func (j *bytecodeJob) emit(module string, pyc []byte) error {
	j.emitting.Lock()
	defer j.emitting.Unlock()
	return j.Emit(module, pyc)
}

// run compiles modules until there are no more, in a new interpreter after one that
// died.
func (j *bytecodeJob) run(ctx context.Context) error {
	for {
		if done, err := j.once(ctx); done || err != nil {
			return err
		}
	}
}

// maxBytecode bounds a module's bytecode, in bytes.
const maxBytecode = 16 << 20

// once runs one interpreter and reports whether no module is left.
func (j *bytecodeJob) once(ctx context.Context) (done bool, err error) {
	const dir = "/modules"
	source, err := guestFiles.ReadFile("guest/bytecode.py")
	if err != nil {
		return false, err
	}
	var module string // the one that it compiles
	var failed error
	in, err := j.rt.New(ctx, Options{Memory: 1 << 30, Calls: map[string]Call{
		"job": {Do: func(context.Context, json.RawMessage) (any, error) {
			return map[string]any{"folder": dir, "shown": j.Shown, "checked": j.Checked}, nil
		}},
		"next": {MaxArgument: maxBytecode, DoData: func(_ context.Context, _ json.RawMessage, pyc []byte) (any, error) {
			if len(pyc) > 0 {
				failed = j.emit(module, bytes.Clone(pyc))
			}
			if module = ""; failed == nil {
				module = j.next()
			}
			return module, failed
		}},
	}})
	if err != nil {
		return false, err
	}
	defer in.Close()
	for _, tree := range j.Trees {
		if err := in.Mount(dir, tree); err != nil {
			return false, err
		}
	}
	res, err := in.Run(ctx, Program{Code: string(source), Filename: "bytecode.py"})
	switch {
	case failed != nil:
		return false, failed
	case err != nil:
		return false, err
	case res.Ended == Cancelled:
		return false, context.Cause(ctx)
	case res.Exception != nil:
		return false, errors.New(res.Exception.Traceback)
	case res.Ended != Finished && module == "":
		return false, fmt.Errorf("the compiling interpreter %v: %w", res.Ended, errors.Join(res.Cause))
	}
	return res.Ended == Finished, nil
}
