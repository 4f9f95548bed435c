package pyodide

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/rewrite"
)

// module is what is known of the main module, beside its machine code.
type module struct {
	wasm   []byte // whole or hollow
	info   *rewrite.Info
	digest string                            // of the whole rewritten module: SHA-256, hexadecimal
	data   func() ([]rewrite.Segment, error) // what it begins with
}

// identity names the contents of the file.
func (c *Config) identity(file string) (string, error) {
	if c.Identity != "" {
		return c.Identity, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return digest(b), nil
}

// rewriteMain rewrites the main module.
func (c *Config) rewriteMain() (*whole, error) {
	source, err := os.ReadFile(c.Module)
	if err != nil {
		return nil, err
	}
	wasm, info, err := rewrite.Module(source, rewriteOptions())
	if err != nil {
		return nil, fmt.Errorf("rewrite %s: %w", c.Module, err)
	}
	return &whole{item: "CPython", wasm: wasm, info: info}, nil
}

// mainData gives the data of the main module.
func (c *Config) mainData() ([]rewrite.Segment, error) {
	source, err := os.ReadFile(c.Module)
	if err != nil {
		return nil, err
	}
	return rewrite.Segments(source)
}

// compile makes machine code of the main module, or takes it from the store.
func (r *Runtime) compile(ctx context.Context) error {
	cfg := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features)
	if r.config.Store != nil {
		return r.takeModule(ctx, cfg)
	}
	r.wz = wazero.NewRuntimeWithConfig(ctx, cfg)
	m, err := r.config.rewriteMain()
	if err != nil {
		return fmt.Errorf("load CPython: %w", err)
	}
	r.module = &module{wasm: m.wasm, info: m.info, digest: digest(m.wasm),
		data: func() ([]rewrite.Segment, error) { return m.info.Data, nil }}
	if r.main, err = r.wz.CompileModule(compileContext(ctx), m.wasm); err != nil {
		return fmt.Errorf("compile CPython: %w", err)
	}
	return nil
}

// takeModule takes the main module from the store, which has it made if need
// be.
func (r *Runtime) takeModule(ctx context.Context, cfg wazero.RuntimeConfig) (err error) {
	if r.code, err = openMachineCode(); err != nil {
		return err
	}
	r.wz = wazero.NewRuntimeWithConfig(ctx, cfg.WithCompilationCache(r.code.cache))
	if r.stamp, err = r.code.stamp(ctx, r.wz); err != nil {
		return err
	}
	identity, err := r.config.identity(r.config.Module)
	if err != nil {
		return fmt.Errorf("load CPython: %w", err)
	}
	key := fmt.Sprintf("%s lower %v all functions %v %d", identity, rewrite.Version, usedExports, maxTable)
	made := sync.OnceValues(r.config.rewriteMain)
	file, code, err := r.stored(ctx, mainKinds, key, made)
	if err != nil {
		return fmt.Errorf("compile CPython: %w", err)
	}
	h, unmap, err := openHollow(file)
	if err != nil {
		return fmt.Errorf("load CPython: %w", err)
	}
	r.unmap = append(r.unmap, unmap)
	if h.Info == nil {
		return fmt.Errorf("load CPython: %w", errHollow)
	}
	r.module = &module{wasm: h.wasm, info: h.Info, digest: h.Digest, data: r.config.mainData}
	if r.main, err = r.load(ctx, h, code, made); err != nil {
		return fmt.Errorf("load CPython: %w", err)
	}
	return nil
}

// writeData puts the module's data where it belongs, since the lean form
// leaves that to the host.
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

// symbol gives the address of a datum that the module exports.
func (r *Runtime) symbol(name string) (uint32, error) {
	a, ok := r.module.info.Symbols[name]
	if !ok {
		return 0, fmt.Errorf("find %s: the module does not export it", name)
	}
	return a, nil
}

// usedExports are the functions that the host calls.
var usedExports = strings.Fields(`
	__wasm_call_ctors __main_argc_argv __errno_location
	malloc free emscripten_builtin_malloc emscripten_builtin_free emscripten_builtin_memalign
	Py_CompileStringExFlags PyImport_ExecCodeModule PyObject_CallOneArg PyObject_GetAttrString PyObject_Repr
	PyUnicode_FromStringAndSize PyUnicode_AsUTF8AndSize Py_DecRef
	PyErr_GetRaisedException PyErr_SetString PyErr_SetInterruptEx PyGILState_Ensure PyGILState_Release __dl_seterr`)

// maxTable bounds the tables, in elements: they are the host's memory.
const maxTable = 1 << 20

// rewriteOptions is what becomes of the main module.
func rewriteOptions() rewrite.Options {
	return rewrite.Options{
		Trampoline: true,
		Lean:       true,
		Keep:       usedExports,
		KeepFuncs:  true, // shared libraries import them
		TableMax:   maxTable,
		Bodies:     []rewrite.Body{rewrite.SleepByPoll()},
	}
}

// compileWorkers is how many goroutines compile: all processors.
func compileWorkers() int { return runtime.GOMAXPROCS(0) }
