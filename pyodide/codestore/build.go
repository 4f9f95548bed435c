package codestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/wasmbin"
)

// features are the WebAssembly features that modules may use.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// The files that Build makes.
const (
	StubFile = "stub"
	CodeFile = "code"
)

// Source is what Build compiles.
type Source struct {
	Whole []byte            // the module
	Stub  []byte            // the same without bodies
	Data  []wasmbin.Segment // left out of Stub; nil: nothing
	Info  []byte            // kept in the stub module for the caller
}

// digestSection is the custom section of a stub module with the digest of the
// whole one: two modules may differ only in their bodies, and wazero keeps loaded
// modules by hash.
const digestSection = "whole"

// Build compiles a module and writes its stub module and its machine code into a
// directory, as StubFile and CodeFile.
func Build(ctx context.Context, dir string, s Source) (err error) {
	stub := Stub{Data: s.Data, Info: s.Info, Digest: Digest(s.Whole)}
	stub.Wasm = wasmbin.AppendSection(s.Stub, wasmbin.SecCustom, wasmbin.AppendName(nil, digestSection), []byte(stub.Digest))
	name, err := compileInto(ctx, filepath.Join(dir, "of-stub"), stub.Wasm)
	if err != nil {
		return err
	}
	stub.code = filepath.Base(name)
	f, err := os.Create(filepath.Join(dir, StubFile))
	if err != nil {
		return err
	}
	if err := errors.Join(stub.write(f), f.Close()); err != nil {
		return err
	}
	code, err := compileInto(ctx, filepath.Join(dir, "of-whole"), s.Whole)
	if err != nil {
		return err
	}
	return os.Rename(code, filepath.Join(dir, CodeFile))
}

// compileInto compiles a module with the empty directory dir as wazero's cache
// and returns the path of the file that wazero writes.
func compileInto(ctx context.Context, dir string, wasm []byte) (file string, err error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return "", err
	}
	defer cache.Close(ctx)
	wz := wazero.NewRuntimeWithConfig(ctx, config().WithCompilationCache(cache))
	defer wz.Close(ctx)
	if _, err = wz.CompileModule(withWorkers(ctx), wasm); err != nil {
		return "", err
	}
	inner, err := only(dir)
	if err != nil {
		return "", err
	}
	return only(inner)
}

// config returns the configuration of wazero's runtimes.
func config() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features)
}

// withWorkers lets wazero compile on all processors, and on at least two: with one
// worker it does not check ctx.
func withWorkers(ctx context.Context) context.Context {
	return experimental.WithCompilationWorkers(ctx, max(2, runtime.GOMAXPROCS(0)))
}

// only returns the path of the single entry of dir.
func only(dir string) (string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(list) != 1 {
		return "", fmt.Errorf("look for machine code: wazero has made %d files in %s", len(list), dir)
	}
	return filepath.Join(dir, list[0].Name()), nil
}
