package pyodide

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/lower"
)

// module is the lowered main module and what is known about it.
type module struct {
	wasm   []byte
	info   *lower.Info
	digest string // SHA-256 of wasm, hexadecimal
	unmap  func() error
}

// loadModule lowers the module, or takes it from the store.
func loadModule(ctx context.Context, c Config) (*module, error) {
	source, err := os.ReadFile(c.Module)
	if err != nil {
		return nil, fmt.Errorf("load CPython: %w", err)
	}
	if c.Store == nil {
		wasm, info, err := lower.Lower(source, lowerOptions())
		if err != nil {
			return nil, fmt.Errorf("lower %s: %w", c.Module, err)
		}
		return newModule(wasm, info, func() error { return nil }), nil
	}
	return loadLowered(ctx, c, source)
}

func newModule(wasm []byte, info *lower.Info, unmap func() error) *module {
	sum := sha256.Sum256(wasm)
	return &module{wasm: wasm, info: info, digest: hex.EncodeToString(sum[:]), unmap: unmap}
}

// loadLowered gets the two halves of lower's answer from the store. Each is
// made by itself if it is missing: lowering takes less time than care.
func loadLowered(ctx context.Context, c Config, source []byte) (*module, error) {
	sum := sha256.Sum256(source)
	key := fmt.Sprintf("%x lower %v all functions %v %d", sum, lower.Version, usedExports, maxTable)
	make := func(write func(w io.Writer, wasm []byte, info *lower.Info) error) func(context.Context, io.Writer) error {
		return func(_ context.Context, w io.Writer) error {
			wasm, info, err := lower.Lower(source, lowerOptions())
			if err != nil {
				return fmt.Errorf("lower %s: %w", c.Module, err)
			}
			return write(w, wasm, info)
		}
	}
	path, err := c.Store.File(ctx, "lowered", key, make(func(w io.Writer, wasm []byte, _ *lower.Info) error {
		_, err := w.Write(wasm)
		return err
	}))
	if err != nil {
		return nil, err
	}
	infoPath, err := c.Store.File(ctx, "lowered-info", key, make(func(w io.Writer, _ []byte, info *lower.Info) error {
		return gob.NewEncoder(w).Encode(info)
	}))
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(infoPath)
	if err != nil {
		return nil, fmt.Errorf("read lowered module: %w", err)
	}
	info := new(lower.Info)
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(info); err != nil {
		return nil, fmt.Errorf("read %s: %w", infoPath, err)
	}
	wasm, unmap, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("read lowered module: %w", err)
	}
	return newModule(wasm, info, unmap), nil
}

// codeKey is the key of the module's machine code.
func (m *module) codeKey() string {
	return fmt.Sprintf("%s wazero %s %s/%s", m.digest, wazeroVersion(), runtime.GOOS, runtime.GOARCH)
}

// writeData puts the module's data where it belongs, since the lean form
// leaves that to the host.
func (m *module) writeData(mem api.Memory) error {
	for _, d := range m.info.Data {
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

// lowerOptions is what becomes of the main module.
func lowerOptions() lower.Options {
	return lower.Options{
		Trampoline: true,
		Lean:       true,
		Keep:       usedExports,
		KeepFuncs:  true, // shared libraries import them
		TableMax:   maxTable,
		Bodies:     []lower.Body{lower.SleepByPoll()},
	}
}

// wazeroVersion is the version that the program was built with.
func wazeroVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/tetratelabs/wazero" {
				return d.Version
			}
		}
	}
	return "unknown"
}

// compileWorkers is how many goroutines compile: all processors.
func compileWorkers() int { return runtime.GOMAXPROCS(0) }
