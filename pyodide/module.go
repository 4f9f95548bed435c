package pyodide

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/cbor"
	"coderunner/internal/machine/abi"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/wasmbin"
)

// compiled holds what is compiled: the main module, shared libraries and the
// standard library. It knows nothing of interpreters.
type compiled struct {
	config    Config
	wz        wazero.Runtime
	code      *codestore.Loader
	link      link
	module    *module
	main      wazero.CompiledModule
	stdlib    []byte // the archive of the standard library, shared and read-only
	stdlibKey string // names its contents
	unmap     []func() error
}

// module describes the main module, without its machine code.
type module struct {
	wasm      []byte                             // whole or stub
	info      *rewrite.Info                      // its Functions and Data: see below
	digest    string                             // of the whole rewritten module: SHA-256, hexadecimal
	data      func() ([]rewrite.Segment, error)  // its data segments
	functions func() (*rewrite.Functions, error) // decoded when first called
}

// mainInfo is what the stub module of the main module keeps for its loader.
type mainInfo struct {
	Info      rewrite.Info // without Functions and Data
	Functions []byte       // encoded: more than half of the time, which a start from a snapshot saves
}

// encodeInfo returns the encoding of a mainInfo.
func encodeInfo(info rewrite.Info) ([]byte, error) {
	functions, err := cbor.Marshal(info.Functions)
	if err != nil {
		return nil, err
	}
	info.Functions, info.Data = rewrite.Functions{}, nil // data is large, and only needed to boot
	return cbor.Marshal(mainInfo{info, functions})
}

// decodeInfo sets info and functions from what encodeInfo has returned.
func (m *module) decodeInfo(b []byte) error {
	var kept mainInfo
	if err := cbor.Unmarshal(b, &kept); err != nil {
		return err
	}
	m.info = &kept.Info
	m.functions = sync.OnceValues(func() (*rewrite.Functions, error) {
		f := new(rewrite.Functions)
		return f, cbor.Unmarshal(kept.Functions, f)
	})
	return nil
}

// rewriteMain rewrites the main module.
func (c *Config) rewriteMain() ([]byte, *rewrite.Info, error) {
	source, err := os.ReadFile(c.Module)
	if err != nil {
		return nil, nil, err
	}
	wasm, info, err := rewrite.Module(source, rewriteOptions())
	if err != nil {
		return nil, nil, fmt.Errorf("rewrite %s: %w", c.Module, err)
	}
	return wasm, info, nil
}

// buildMain compiles the main module into dir.
func (c *Config) buildMain(ctx context.Context, dir string) error {
	wasm, info, err := c.rewriteMain()
	if err != nil {
		return err
	}
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return err
	}
	text, err := encodeInfo(*info)
	if err != nil {
		return err
	}
	return codestore.Build(ctx, dir, codestore.Source{Whole: wasm, Stub: m.Stub(nil), Info: text})
}

// mainData returns the data of the main module.
func (c *Config) mainData() ([]rewrite.Segment, error) {
	source, err := os.ReadFile(c.Module)
	if err != nil {
		return nil, err
	}
	return rewrite.Segments(source)
}

// compile compiles the main module, or loads its machine code from the store.
func (r *compiled) compile(ctx context.Context) (err error) {
	if r.code, err = codestore.NewLoader(ctx); err != nil {
		return err
	}
	r.wz = r.code.Runtime()
	if r.config.Store != nil {
		return r.takeModule(ctx)
	}
	wasm, info, err := r.config.rewriteMain()
	if err != nil {
		return fmt.Errorf("load CPython: %w", err)
	}
	r.module = &module{wasm: wasm, info: info, digest: codestore.Digest(wasm),
		data:      func() ([]rewrite.Segment, error) { return info.Data, nil },
		functions: func() (*rewrite.Functions, error) { return &info.Functions, nil }}
	if r.main, err = r.code.Compile(ctx, wasm); err != nil {
		return fmt.Errorf("compile CPython: %w", err)
	}
	return nil
}

// takeModule loads the main module from the store, building it if need be.
func (r *compiled) takeModule(ctx context.Context) (err error) {
	identity, err := r.config.identity(r.config.Module)
	if err != nil {
		return fmt.Errorf("load CPython: %w", err)
	}
	key := fmt.Sprintf("%s rewrite %v errno table %d", identity, rewrite.Version, maxTable)
	file, code, err := r.stored(ctx, mainKinds, key, "CPython", r.config.buildMain)
	if err != nil {
		return fmt.Errorf("compile CPython: %w", err)
	}
	stub, unmap, err := OpenStub(file)
	if err != nil {
		return fmt.Errorf("load CPython: %w", err)
	}
	r.unmap = append(r.unmap, unmap)
	r.checkLayout("CPython", stub)
	r.module = &module{wasm: stub.Wasm, digest: stub.Digest, data: r.config.mainData}
	if err := r.module.decodeInfo(stub.Info); err != nil {
		return fmt.Errorf("load CPython: read %s: %w", file, err)
	}
	r.main, err = r.code.LoadOr(ctx, stub, code, func() ([]byte, error) {
		wasm, _, err := r.config.rewriteMain()
		return wasm, err
	})
	if err != nil {
		return fmt.Errorf("load CPython: %w", err)
	}
	return nil
}

// writeData copies the data segments that the lean module omits into memory.
func (m *module) writeData(mem api.Memory) error {
	data, err := m.data()
	if err != nil {
		return err
	}
	for _, d := range data {
		if !mem.Write(d.Addr, d.Bytes) {
			return fmt.Errorf("data segment at %#x does not fit the memory", d.Addr)
		}
	}
	return nil
}

// symbol returns the address of exported data.
func (r *compiled) symbol(name string) (uint32, error) {
	a, ok := r.module.info.Symbols[name]
	if !ok {
		return 0, fmt.Errorf("find %s: the module does not export it", name)
	}
	return a, nil
}

// maxTable bounds the tables, in elements: they take host memory.
const maxTable = 1 << 20

// rewriteOptions returns how the main module is rewritten. The bodies that
// PassRounds repeats would be a tenth more code to read at each start.
func rewriteOptions() rewrite.Options {
	return rewrite.Options{
		Trampoline: true,
		Lean:       true,
		Threads:    true,
		TableMax:   maxTable,
		Bodies:     []rewrite.Body{rewrite.SleepByPoll(), rewrite.LinuxErrno(abi.LinuxNumbers(), int32(abi.EINTR))},
		Skip:       rewrite.PassRounds | rewrite.PassStrides,
	}
}

func (r *compiled) progress(p Progress) {
	if r.config.Progress != nil {
		r.config.Progress(p)
	}
}

// checkLayout reports machine code that was not laid out anew.
func (r *compiled) checkLayout(module string, s *codestore.Stub) {
	if r.config.Unlaid != nil && !s.Layout.Whole() {
		r.config.Unlaid(module, s.Layout)
	}
}

var (
	mainKinds    = codestore.Kinds{Stub: "module", Code: "machine-code"}
	libraryKinds = codestore.Kinds{Stub: "library", Code: "library-code"}
)

// stored returns the paths of key's stub module and machine code. If the store
// lacks them they are built, with progress for item.
func (r *compiled) stored(ctx context.Context, k codestore.Kinds, key, item string, build builder) (stub, code string, err error) {
	return r.code.Get(ctx, r.config.Store, k, key, func(ctx context.Context, dir string) error {
		defer elapsing(r.progress, Progress{Phase: "compile", Item: item})()
		return build(ctx, dir)
	})
}

// builder makes the files of a module in a directory: see [codestore.Build].
type builder func(ctx context.Context, dir string) error
