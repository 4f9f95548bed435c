package pyodide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/wasmbin"
)

// ownLibrary compiles a library that the program has written itself, for its
// interpreter alone.
func (in *linking) ownLibrary(ctx context.Context, sum string, b []byte) (*dylink.Library, error) {
	for _, lib := range in.own {
		if lib.Digest == sum {
			return lib, nil
		}
	}
	in.ownBytes += int64(len(b))
	m, err := wasmbin.Parse(b)
	if err != nil {
		return nil, err
	}
	for _, body := range m.Bodies {
		if n := body.End - body.Start; n > maxOwnBody {
			return nil, fmt.Errorf("%w, and has a function of %d bytes, at most %d can be compiled now", ErrNotPrepared, n, maxOwnBody)
		}
	}
	for _, t := range m.Types { // wazero keeps types for good
		in.ownTypes += 1 + len(t.Params) + len(t.Results)
	}
	if in.ownTypes > maxOwnTypes {
		return nil, fmt.Errorf("%w, and has too many function types to be compiled now", ErrNotPrepared)
	}
	lib, err := in.compiled.compileApart(ctx, sum, b)
	if err != nil {
		return nil, err
	}
	in.own = append(in.own, lib)
	return lib, nil
}

// compileApart compiles in the background, so that it can return when ctx ends: a
// function being compiled in this process cannot be interrupted.
func (r *compiled) compileApart(ctx context.Context, sum string, b []byte) (*dylink.Library, error) {
	select {
	case r.link.compilers <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	type result struct {
		lib *dylink.Library
		err error
	}
	done := make(chan result, 1)
	r.link.running.Go(func() {
		defer func() { <-r.link.compilers }()
		lib, err := r.compileOwn(ctx, sum, b)
		if err == nil && ctx.Err() != nil { // the caller has returned
			err = errors.Join(context.Cause(ctx), lib.Close(context.WithoutCancel(ctx)))
		}
		done <- result{lib, err}
	})
	select {
	case d := <-done:
		return d.lib, d.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (r *compiled) compileOwn(ctx context.Context, sum string, b []byte) (_ *dylink.Library, err error) {
	dir, err := r.code.TempDir()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := r.libraryBuilder(sum, b, ownBudget, len(b) <= smallLibrary)(ctx, dir); err != nil {
		return nil, err
	}
	file, err := os.ReadFile(filepath.Join(dir, codestore.StubFile))
	if err != nil {
		return nil, err
	}
	stub, err := codestore.ReadStub(file)
	if err != nil {
		return nil, err
	}
	return r.loadLibrary(ctx, sum, stub, filepath.Join(dir, codestore.CodeFile), func() ([]byte, error) { return rewriteLibrary(b) })
}
