package codestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/relayout"
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
	Stub  []byte            // the same without bodies; nil: the module is small, and needs none
	Data  []wasmbin.Segment // left out of Stub; nil: nothing
	Info  []byte            // kept in the stub module for the caller
	Later bool              // leave the machine code as wazero writes it; not with Of

	// Of returns where an offset in Whole's code section is from: an offset in that of the
	// module that has the lines, and where the call was if a function was copied into its caller,
	// else 0. Nil: traces have no lines.
	Of func(at uint32) (of, call uint32)
}

// digestSection is the custom section of a stub module with the digest of the
// whole one: two modules may differ only in their bodies, and wazero keeps loaded
// modules by hash.
const digestSection = "whole"

// Build compiles a module and writes its stub module and its machine code into a
// directory, as StubFile and CodeFile.
func Build(ctx context.Context, dir string, s Source) (err error) {
	stub := Stub{Data: s.Data, Info: s.Info, Digest: Digest(s.Whole)}
	if s.Stub == nil { // so small that a second worker would cost more than it does
		code, err := compileInto(ctx, filepath.Join(dir, "of-whole"), s.Whole)
		if err != nil {
			return err
		}
		stub.Wasm, stub.code, stub.Layout.Later = s.Whole, filepath.Base(code), LaysOut
		return stub.keep(dir, code, os.Rename)
	}
	stub.Wasm = wasmbin.AppendSection(s.Stub, wasmbin.SecCustom, wasmbin.AppendName(nil, digestSection), []byte(stub.Digest))
	name, err := compileInto(withWorkers(ctx), filepath.Join(dir, "of-stub"), stub.Wasm)
	if err != nil {
		return err
	}
	stub.code = filepath.Base(name)
	whole := s.Whole
	if s.Of != nil {
		whole = wasmbin.AppendSection(slices.Clip(whole), wasmbin.SecCustom, wasmbin.AppendName(nil, ".debug_info"), emptyUnit)
	}
	code, err := compileInto(withWorkers(ctx), filepath.Join(dir, "of-whole"), whole)
	if err != nil {
		return err
	}
	keep := os.Rename
	if packs {
		keep = pack
	}
	if stub.Layout.Later = s.Later && LaysOut; stub.Layout.Later {
		return stub.keep(dir, code, keep)
	}
	if stub.Layout, err = layOut(code, s.Stub); err != nil {
		return err
	}
	if s.Of != nil {
		if stub.places, err = takePlaces(code, s.Of); err != nil {
			return err
		}
	}
	return stub.keep(dir, code, keep)
}

// keep writes what a directory has when its module is built, with the machine code of wazero's
// file.
func (s *Stub) keep(dir, code string, keep func(from, to string) error) error {
	if err := keep(code, filepath.Join(dir, CodeFile)); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, StubFile))
	if err != nil {
		return err
	}
	return errors.Join(s.write(f), f.Close())
}

// Layout is how a module's machine code was laid out anew: not at all for
// processors other than amd64.
type Layout struct {
	relayout.Stats
	Refused string // why it is as wazero wrote it; "": it is not
	Later   bool   // it is as wazero wrote it: see Source.Later
}

// Whole reports whether nothing stayed as it was that need not.
func (l *Layout) Whole() bool { return l.Refused == "" && l.Kept == 0 }

// LaysOut reports whether machine code is laid out anew for this processor.
const LaysOut = runtime.GOARCH == "amd64"

// layOut lays out the machine code in a file anew: see package relayout. Code that
// it does not know stays as it is. stub has the module's types.
func layOut(file string, stub []byte) (l Layout, err error) {
	if !LaysOut {
		return Layout{}, nil
	}
	m, err := wasmbin.Parse(stub)
	if err != nil {
		return Layout{}, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return Layout{}, err
	}
	b, l.Stats, err = relayout.File(b, Shapes(m))
	if err != nil {
		return Layout{Refused: err.Error()}, nil
	}
	return l, os.WriteFile(file, b, 0o600)
}

// Shapes returns the shapes of a module's own functions.
func Shapes(m *wasmbin.Module) []relayout.Shape {
	count := func(types []wasmbin.ValType) (n int) {
		for _, t := range types {
			if t != wasmbin.F32 && t != wasmbin.F64 && t != wasmbin.V128 {
				n++
			}
		}
		return n
	}
	shapes := make([]relayout.Shape, 0, len(m.Funcs)-m.ImportedFuncs)
	for n := m.ImportedFuncs; n < len(m.Funcs); n++ {
		t := m.FuncType(uint32(n))
		shapes = append(shapes, relayout.Shape{Arguments: count(t.Params), Results: count(t.Results)})
	}
	return shapes
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
	if _, err = wz.CompileModule(ctx, wasm); err != nil {
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
