package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sync/singleflight"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/preview1"
	"coderunner/internal/recent"
	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/wasmbin"
)

// Bounds of a module that a program brings: compiling takes memory that grows faster than
// the module.
const (
	MaxOwn      = 24 << 20 // bytes of a module
	maxOwnBody  = 4 << 20  // of a function
	maxOwnTypes = 20_000   // function types, parameters and results
)

// BadModule is a module that cannot be run, and why.
type BadModule struct{ Reason string }

func (e *BadModule) Error() string { return e.Reason }

// own has the modules that programs bring. Those used last stay compiled.
type own struct {
	loader   *codestore.Loader
	codes    recent.Map[string, *Code] // by digest
	building singleflight.Group        // by digest
	wait     sync.WaitGroup            // for what is building
}

// Use returns a module that a program brings, by its digest, ready to run until nobody has it.
func (e *Engine) Use(ctx context.Context, wasm []byte, digest string) (*Code, error) {
	o, err := e.ownModules(ctx)
	if err != nil {
		return nil, err
	}
	if c, ok := o.codes.Get(digest); ok {
		return c, nil
	}
	o.wait.Add(1)
	built := o.building.DoChan(digest, func() (any, error) {
		c, err := e.buildOwn(context.WithoutCancel(ctx), o.loader, wasm, digest) // a function that is being compiled cannot be interrupted
		if err == nil {
			o.codes.Put(digest, c)
		}
		return c, err
	})
	select {
	case r := <-built:
		o.wait.Done()
		c, _ := r.Val.(*Code)
		return c, r.Err
	case <-ctx.Done():
		go func() { <-built; o.wait.Done() }()
		return nil, context.Cause(ctx)
	}
}

func (e *Engine) ownModules(ctx context.Context) (*own, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.own != nil {
		return e.own, nil
	}
	l, err := codestore.NewLoader(context.WithoutCancel(ctx))
	if err == nil {
		err = preview1.Rows().Instantiate(context.WithoutCancel(ctx), l.Runtime())
	}
	if err != nil {
		return nil, err
	}
	e.own = &own{loader: l, codes: recent.Map[string, *Code]{Weigh: func(c *Code) int { return c.weight }}}
	return e.own, nil
}

// buildOwn compiles a module of a program. The cache keeps what comes of it for later processes,
// but not of a worker, which keeps nothing for others.
func (e *Engine) buildOwn(ctx context.Context, l *codestore.Loader, wasm []byte, digest string) (_ *Code, err error) {
	if err := checkOwn(wasm); err != nil {
		return nil, err
	}
	build := func(ctx context.Context, dir string) error {
		if err := e.build(ctx, dir, wasm, false); err != nil { // what can go wrong here is the module
			return &BadModule{err.Error()}
		}
		return nil
	}
	var stubFile, codeFile string
	if e.cfg.Fetch != nil {
		key := fmt.Sprintf("module 2 %s rewrite %s table %d", digest, rewrite.Version, maxTable)
		stubFile, codeFile, err = l.Get(ctx, e.cfg.Files, codestore.Kinds{Stub: builtKind, Code: builtKind + "-code"}, key, build)
	} else {
		var dir string
		if dir, err = l.TempDir(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		stubFile, codeFile, err = filepath.Join(dir, codestore.StubFile), filepath.Join(dir, codestore.CodeFile), build(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	stub, unmap, err := pyodide.OpenStub(stubFile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unmap()) }()
	const machineCode = 4 // times the module
	c := &Code{loader: l, weight: machineCode * len(wasm), stub: stub}
	if c.compiled, err = l.Load(ctx, stub, codeFile); err != nil {
		return nil, err
	}
	runtime.AddCleanup(c, func(m wazero.CompiledModule) { _ = m.Close(context.Background()) }, c.compiled) // it never fails
	return c, nil
}

func (o *own) close() error {
	o.wait.Wait()
	return o.loader.Close(context.Background())
}

// checkOwn refuses what would only fail later, without a word of why.
func checkOwn(wasm []byte) error {
	if len(wasm) > MaxOwn {
		return &BadModule{fmt.Sprintf("it has %d bytes; at most %d are taken", len(wasm), MaxOwn)}
	}
	if strings.HasPrefix(string(wasm), "\x00asm\x0d\x00\x01\x00") {
		return &BadModule{"it is a component, as WASI preview 2 has them; compile for preview 1 (wasm32-wasip1)"}
	}
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return &BadModule{err.Error()}
	}
	types := 0
	for _, t := range m.Types { // wazero keeps types for good
		types += 1 + len(t.Params) + len(t.Results)
	}
	if types > maxOwnTypes {
		return &BadModule{"it has too many function types"}
	}
	for _, b := range m.Bodies {
		if n := b.End - b.Start; n > maxOwnBody {
			return &BadModule{fmt.Sprintf("a function of it has %d bytes; at most %d can be compiled", n, maxOwnBody)}
		}
	}
	return checkNames(m)
}

// checkNames refuses a module that imports what there is not, or is no program.
func checkNames(m *wasmbin.Module) error {
	known := map[string]bool{}
	for _, r := range preview1.Rows() {
		known[r.Name] = true
	}
	for _, im := range m.Imports {
		switch {
		case im.Module == preview1.Module && im.Kind == wasmbin.KindFunc && known[im.Name]:
		case im.Module == "wasi_unstable":
			return &BadModule{"it was compiled for an early version of WASI, wasi_unstable; compile for preview 1 (wasm32-wasip1)"}
		default:
			return &BadModule{fmt.Sprintf("it imports %s.%s, which WASI preview 1 does not have", im.Module, im.Name)}
		}
	}
	if _, ok := m.ExportedFunc("_start"); !ok {
		return &BadModule{"it is a library: it exports no function _start"}
	}
	if !slices.ContainsFunc(m.Exports, func(e wasmbin.Export) bool { return e.Kind == wasmbin.KindMemory && e.Name == "memory" }) {
		return &BadModule{"it exports no memory"}
	}
	return nil
}

// Main runs a module that is a program, and returns how it ended. After a trap, debug returns the
// module with debug information; nil: names are enough.
func Main(ctx context.Context, p *kernel.Process, c *Code, debug func() []byte) (End, error) {
	in, _, err := Begin(ctx, p, c, nil)
	if err != nil {
		return End{}, err
	}
	defer in.Close()
	in.debug = debug
	_, err = in.Call("_start")
	return in.End(err), nil
}

// IsBad reports why a module cannot be run, "" if err is another error.
func IsBad(err error) string {
	if bad, ok := errors.AsType[*BadModule](err); ok {
		return bad.Reason
	}
	return ""
}
