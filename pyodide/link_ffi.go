package pyodide

import (
	"context"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/libffi"
	"coderunner/pyodide/wasmbin"
)

// foreign returns the host's half of libffi.
func (in *linking) foreign() (*libffi.FFI, error) {
	if in.ffi != nil {
		return in.ffi, nil
	}
	l, err := in.dynamicLinker()
	if err != nil {
		return nil, err
	}
	stack, err := in.global("__stack_pointer")
	if err != nil {
		return nil, err
	}
	in.ffi = libffi.New(libffi.Config{
		Mem: in.mem, Stack: stack,
		TypeAt: l.TypeAt, Named: l.Named,
		Caller: func(ctx context.Context, t wasmbin.FuncType) (api.Function, error) {
			f, err := l.Caller(ctx, t)
			in.calls = append(in.calls, f) // until nested returns
			return f, err
		},
		TakeSlot: l.TakeSlot, FreeSlot: l.FreeSlot, SetType: l.SetType, Generate: l.Generate,
		Malloc: func(ctx context.Context, size uint32) (uint32, error) { return in.call(ctx, "malloc", size) },
		Free: func(ctx context.Context, p uint32) error {
			_, err := in.call(ctx, "free", p)
			return err
		},
	})
	return in.ffi, nil
}

// ffiCallbacks adds libffi's callbacks for host functions. An error becomes a
// Python exception, which ctypes finds after the call.
func (in *linking) ffiCallbacks(g *emscripten.Guest) {
	g.FFICall = func(ctx context.Context, cif, fn, rvalue, avalue uint32) {
		in.called = true
		f, err := in.foreign()
		if err == nil {
			err = in.nested(func() error { return f.Call(ctx, cif, fn, rvalue, avalue) })
		}
		if err != nil {
			in.unwindIfDead(err)
			in.mem.PutUint32(rvalue, 0)
			in.raise(ctx, err.Error())
		}
	}
	g.FFIClosureAlloc = func(ctx context.Context, size, code uint32) uint32 {
		f, err := in.foreign()
		var p uint32
		if err == nil {
			p, err = f.Alloc(ctx, size, code)
		}
		in.unwindIfDead(err)
		return p // 0 is "no memory" to the guest
	}
	g.FFIClosureFree = func(ctx context.Context, p uint32) {
		f, err := in.foreign()
		if err == nil {
			err = f.Release(ctx, p)
		}
		in.unwindIfDead(err)
	}
	g.FFIClosurePrep = func(ctx context.Context, p, cif, fun, data, code uint32) int32 {
		const badTypedef = 1
		f, err := in.foreign()
		status := int32(badTypedef)
		if err == nil {
			status, err = f.Prepare(ctx, p, cif, fun, data, code)
		}
		in.unwindIfDead(err)
		if err != nil {
			return badTypedef
		}
		return status
	}
}
