package pyodide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/cbor"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/split"
)

// partSize is how many bytes of functions a part of a split library has.
const partSize = 8 << 10

// splitInfo is what the stub module of a split library keeps for its loader.
type splitInfo struct {
	Image []byte   // the stub of the whole library: what a linker knows of it
	Parts [][]byte // modules
}

// librarySource is what BuildLibrary compiles.
type librarySource struct{ codestore.Source }

// loads reports whether the export of a library is called whenever it is loaded.
func loads(export string) bool {
	return strings.HasPrefix(export, "__wasm_") || strings.HasPrefix(export, "PyInit_")
}

// split makes the source that of the library's primary module, unless it must stay whole.
func (s *librarySource) split() error {
	s.Later = true
	m, err := split.Module(s.Whole, partSize, loads)
	if errors.Is(err, split.ErrWhole) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.Info, err = cbor.Marshal(splitInfo{s.Stub, m.Parts}); err != nil {
		return err
	}
	s.Whole = m.Primary
	s.Stub, s.Data, err = dylink.Stub(m.Primary)
	return err
}

// parts compiles the parts of a split library when an interpreter first calls for them. They
// are shared by all interpreters of a runtime. Those that the first process has compiled are
// kept for the next ones.
type parts struct {
	splitInfo
	*compiled
	sum   string        // of the library
	turn  chan struct{} // holds a token while a part is compiled
	code  []wazero.CompiledModule
	built []builtPart // beside code, what there is to keep; nil until the first part is loaded
	grown bool        // by what is not in the store
}

// builtPart has the files of a part.
type builtPart struct{ Stub, Code []byte }

// partsKey names the parts of a library that are kept.
func partsKey(sum string) string { return firstKey(sum) + " parts" }

// Part implements [dylink.Parts].
func (p *parts) Part(ctx context.Context, n uint32) (_ wazero.CompiledModule, err error) {
	if n >= uint32(len(p.Parts)) {
		return nil, fmt.Errorf("there is no part %d", n)
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.code[n] == nil {
		p.code[n], err = p.load(ctx, n)
	}
	return p.code[n], err
}

// load loads a part from what is kept, or compiles it.
func (p *parts) load(ctx context.Context, n uint32) (_ wazero.CompiledModule, err error) {
	if p.built == nil {
		if err := p.find(ctx); err != nil {
			return nil, err
		}
	}
	dir, err := p.compiled.code.TempDir()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	code, built := filepath.Join(dir, codestore.CodeFile), &p.built[n]
	if built.Code != nil {
		err = os.WriteFile(code, built.Code, 0o600)
	} else if err = p.build(ctx, dir, n); err == nil {
		if built.Stub, err = os.ReadFile(filepath.Join(dir, codestore.StubFile)); err == nil {
			built.Code, err = os.ReadFile(code)
		}
		p.grown = true
	}
	if err != nil {
		return nil, fmt.Errorf("compile a part: %w", err)
	}
	stub, err := codestore.ReadStub(built.Stub)
	if err != nil {
		return nil, err
	}
	return p.compiled.code.LoadOr(ctx, stub, code, func() ([]byte, error) { return p.Parts[n], nil })
}

func (p *parts) build(ctx context.Context, dir string, n uint32) error {
	if err := os.WriteFile(filepath.Join(dir, partFile), p.Parts[n], 0o600); err != nil {
		return err
	}
	return p.compiled.build(ctx, dir, 0, false)
}

// find reads what is kept.
func (p *parts) find(ctx context.Context) error {
	version, err := p.compiled.code.Version()
	if err != nil {
		return err
	}
	built := make([]builtPart, len(p.Parts))
	file, err := p.config.Store.File(ctx, libraryKinds.Code, partsKey(p.sum)+" "+version, func(context.Context, io.Writer) error { return ErrNotPrepared })
	if err == nil {
		var b []byte
		if b, err = os.ReadFile(file); err == nil {
			err = cbor.Unmarshal(b, &built)
		}
		if err == nil && len(built) != len(p.Parts) {
			err = errors.New("the kept parts of a library are damaged")
		}
	}
	if err != nil && !errors.Is(err, ErrNotPrepared) {
		return err
	}
	p.built = built
	return nil
}

// keep keeps the parts that were compiled, if none are yet.
func (p *parts) keep(ctx context.Context) error {
	if !p.grown {
		return nil
	}
	version, err := p.compiled.code.Version()
	if err == nil {
		_, err = p.config.Store.File(ctx, libraryKinds.Code, partsKey(p.sum)+" "+version, func(_ context.Context, w io.Writer) error {
			return cbor.Write(w, p.built)
		})
	}
	return err
}

// Close implements [dylink.Parts].
func (p *parts) Close(ctx context.Context) error {
	var errs []error
	for _, c := range p.code {
		if c != nil {
			errs = append(errs, c.Close(ctx))
		}
	}
	return errors.Join(errs...)
}

// loaderKey is the key of a context's *instance, for instantiateLoader.
type loaderKey struct{}

// instantiateLoader makes the host module that the primary modules of split libraries
// import. What it waits for is a library's compilation: see openLibrary.
func instantiateLoader(ctx context.Context, wz wazero.Runtime) error {
	load := func(ctx context.Context, caller api.Module, stack []uint64) {
		in := ctx.Value(loaderKey{}).(*instance)
		in.deadline.pause()
		err := in.linking.linker.LoadPart(ctx, caller, split.Primary, uint32(stack[0]))
		in.deadline.resume()
		if err != nil {
			in.linking.unwindIfDead(hostfn.Trap{Err: err})
		}
	}
	_, err := wz.NewHostModuleBuilder(split.HostModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(load), []api.ValueType{api.ValueTypeI32}, nil).
		WithName(split.Load).WithParameterNames("part").Export(split.Load).Instantiate(ctx)
	return err
}
