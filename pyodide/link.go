package pyodide

import (
	"context"
	"fmt"
	"path"

	"github.com/tetratelabs/wazero"

	"coderunner/internal/machine/abi"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/rewrite"
)

// dynamicLinker returns the interpreter's dynamic linker, made on first use.
func (in *linking) dynamicLinker() (*dylink.Linker, error) {
	if in.linker != nil {
		return in.linker, nil
	}
	main, err := in.compiled.link.main()
	if err != nil {
		return nil, err
	}
	in.linker = dylink.New(dylink.Config{
		Main: main, Instance: in.mod, Mem: in.mem,
		Call: in.call,
		Grow: in.compiled.module.info.Tables[0].Grow,
		Zero: func(addr, n uint32) error { return in.zero(addr, n) },
		Find: func(name string) (string, bool) { return in.findFile(name) },
		Open: func(ctx context.Context, file string) (*dylink.Library, error) { return in.openLibrary(ctx, file) },
		Compile: func(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
			return in.compileGlue(ctx, wasm)
		},
		Instantiate: in.compiled.instantiateAnonymous,
		HostFuncs:   hostFuncs(),
		Globals:     []string{"__stack_pointer", rewrite.FlagGlobal, rewrite.ValueGlobal, rewrite.InterruptGlobal},
		Exception:   rewrite.FlagGlobal,
		Arity:       rewrite.ArityOf, ArityTable: rewrite.ArityTable, ArityLen: rewrite.ArityLen,
	})
	return in.linker, nil
}

// call calls an export of the main module.
func (in *linking) call(ctx context.Context, export string, args ...uint32) (uint32, error) {
	return guest{in: in.instance, ctx: ctx}.call(export, args...)
}

// zero clears a part of the memory to which nothing was mapped yet.
func (in *linking) zero(addr, n uint32) error {
	mem, ok := in.mem.Bytes(0, in.mem.Size())
	if !ok || uint64(addr)+uint64(n) > uint64(len(mem)) {
		return errOutOfRange
	}
	zero(mem, int(addr), int(addr)+int(n))
	return nil
}

// findFile returns the absolute path of a regular file.
func (in *linking) findFile(name string) (string, bool) {
	file := name
	if !path.IsAbs(file) {
		file = in.proc.Cwd() + "/" + file
	}
	file = path.Clean(file)
	n, errno := in.fs.Lookup(nil, file, true)
	if errno != abi.OK || in.fs.Stat(n).Mode&abi.S_IFMT != abi.S_IFREG {
		return "", false
	}
	return file, true
}

// linkCallbacks adds the dynamic linker's callbacks for host functions.
func (in *linking) linkCallbacks(g *emscripten.Guest) {
	g.Dlopen = func(ctx context.Context, handle uint32) int32 {
		l, err := in.dynamicLinker()
		if err == nil {
			unlock := in.oneAtATime(ctx)
			err = in.nested(func() error { return l.Dlopen(ctx, handle) })
			unlock()
		}
		if !in.linkError(ctx, err) {
			return 0
		}
		return 1
	}
	g.Dlsym = func(ctx context.Context, handle, symbol uint32) uint32 {
		l, err := in.dynamicLinker()
		var v uint32
		if err == nil {
			v, err = l.Dlsym(ctx, handle, symbol)
		}
		if !in.linkError(ctx, err) {
			return 0
		}
		return v
	}
}

// maxNesting bounds the nested calls guest to host to guest: each has a native
// stack of up to 50 MB.
const maxNesting = 48

// nested runs do, which calls the guest on the guest's behalf.
func (in *linking) nested(do func() error) error {
	if in.depth >= maxNesting {
		return fmt.Errorf("functions in C call one another through the host more than %d deep", maxNesting)
	}
	in.depth++
	calls := len(in.calls)
	defer func() { in.depth, in.calls = in.depth-1, in.calls[:calls] }()
	return do()
}

// linkError reports err to the guest by dlerror, or unwinds a dead guest. It
// reports whether err is nil.
func (in *linking) linkError(ctx context.Context, err error) (ok bool) {
	if err == nil {
		return true
	}
	in.unwindIfDead(err)
	in.dlError(ctx, fmt.Sprint(err))
	return false
}

// glueCost is the minimum code size of a generated module, in bytes.
const glueCost = 16 << 10

// instanceCost estimates the host memory of an instance of such a module, in
// bytes.
const instanceCost = 8 << 10

// compileGlue compiles a small generated module. Interpreters share equal ones.
func (in *linking) compileGlue(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	r := in.compiled
	// A snapshot's modules are not charged. The others are, until the file
	// system is closed.
	if in.fs != nil && !in.fs.Reserve(instanceCost) {
		return nil, errNoMemory
	}
	lib, err := r.link.shared.use(ctx, "glue "+codestore.Digest(wasm), &in.used, func() (*dylink.Library, int, error) {
		code, err := r.code.Compile(ctx, wasm)
		return &dylink.Library{Code: code}, len(wasm) + glueCost, err
	})
	if err != nil {
		return nil, err
	}
	return lib.Code, nil
}

// unwindIfDead ends the guest's call in progress if err left the interpreter
// dead.
func (in *linking) unwindIfDead(err error) {
	if err == nil || !in.dead && !hostfn.Trapped(err) {
		return
	}
	in.dead = true
	panic(err)
}
