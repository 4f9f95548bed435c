package pyodide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/dylink"
)

// Bounds on the libraries that a program may have compiled without their
// having been prepared: files that it has written itself.
const (
	maxSpot      = 8 << 20 // bytes, of all together
	maxSpotBody  = 256 << 10
	maxSpotTypes = 20_000 // with their parameters and results, of all together

	// spotCompilers is how many programs' libraries are compiled at once.
	spotCompilers = 2
)

// compileOnTheSpot compiles a library for one interpreter.
func (in *Interp) compileOnTheSpot(ctx context.Context, sum string, b []byte) (*dylink.Library, error) {
	for _, lib := range in.spot {
		if lib.Digest == sum {
			return lib, nil
		}
	}
	in.spotBytes += int64(len(b))
	wasm, image, err := rewriteSide(b, maxSpotBody)
	if err != nil {
		return nil, err
	}
	// wazero never forgets a function type.
	if in.spotTypes += image.Types; in.spotTypes > maxSpotTypes {
		return nil, fmt.Errorf("%w, and has too many function types to be compiled now", errNotPrepared)
	}
	code, err := in.rt.compileApart(ctx, wasm)
	if err != nil {
		return nil, err
	}
	lib := &dylink.Library{Image: image, Code: code, Digest: sum}
	in.spot = append(in.spot, lib)
	return lib, nil
}

// compileApart compiles where it holds up nobody else. When ctx ends it
// returns; the function that is being compiled then is finished in the
// background.
func (r *Runtime) compileApart(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	if r.code == nil {
		return r.wz.CompileModule(compileContext(ctx), wasm)
	}
	select {
	case r.link.compilers <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	dir, err := tempDir()
	if err != nil {
		<-r.link.compilers
		return nil, err
	}
	done := make(chan error, 1)
	var file string
	r.link.running.Go(func() {
		defer func() { <-r.link.compilers }()
		var err error
		file, err = compileInto(ctx, dir, wasm)
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), os.RemoveAll(dir))
		}
		done <- err
	})
	select {
	case err = <-done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	code, err := r.code.load(ctx, r.wz, wasm, filepath.Base(file), file)
	return code, errors.Join(err, os.RemoveAll(dir))
}

// compileContext lets wazero compile on all processors; with one worker it
// would not look at ctx.
func compileContext(ctx context.Context) context.Context {
	return experimental.WithCompilationWorkers(ctx, max(2, compileWorkers()))
}
