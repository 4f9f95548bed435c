package pyodide

import (
	"context"
	"strings"

	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/jsffi"
)

// context adds the interpreter's host state, which the host functions look
// for, to the context of a call.
func (in *instance) context(ctx context.Context) context.Context {
	return jsffi.NewContext(emscripten.NewContext(ctx, in.proc), jsffi.Host{Raise: in.raise, Mem: in.mem})
}

// callbacks are what host functions need of the guest. They are called while
// the guest waits for the host, on its goroutine.
func (in *Interp) callbacks() emscripten.Guest {
	signals := in.signals // of this interpreter, not of the instance's next
	g := emscripten.Guest{
		Malloc: func(ctx context.Context, size uint32) uint32 {
			return in.callback(ctx, "emscripten_builtin_malloc", size)
		},
		Free: func(ctx context.Context, addr uint32) {
			in.callback(ctx, "emscripten_builtin_free", addr)
		},
		Memalign: func(ctx context.Context, align, size uint32) uint32 {
			return in.callback(ctx, "emscripten_builtin_memalign", align, size)
		},
		SetErrno: func(ctx context.Context, errno int32) {
			if p := in.callback(ctx, "__errno_location"); p != 0 {
				in.mod.Memory().WriteUint32Le(p, uint32(errno))
			}
		},
		Raise: in.raise,
		// Every handler that C installs here is CPython's own, which does no
		// more than this.
		CallHandler: func(ctx context.Context, _ uint32, signal int32) {
			in.callback(ctx, "PyErr_SetInterruptEx", uint32(signal))
		},
		Alarm:   func(int32) { signals.send(sigalrm) },
		DlError: in.dlError,
	}
	in.linking.linkCallbacks(&g)
	in.linking.ffiCallbacks(&g)
	return g
}

// callback calls an export from within a host function. A failure unwinds the
// guest: its error is that of the call in progress.
func (in *instance) callback(ctx context.Context, name string, args ...uint32) uint32 {
	v, err := guest{in: in, ctx: ctx}.call(name, args...)
	if err != nil {
		panic(err)
	}
	return v
}

// raise sets a Python exception of the class NotImplementedError, once there is
// a Python to set it in: constructors call the host before.
func (in *instance) raise(ctx context.Context, message string) {
	if !in.initialized {
		return
	}
	if err := (guest{in: in, ctx: ctx}).raise("NotImplementedError", message); err != nil {
		panic(err)
	}
}

// dlError sets what dlerror says.
func (in *instance) dlError(ctx context.Context, message string) {
	g := guest{in: in, ctx: ctx}
	p, err := g.cstring(strings.ReplaceAll(message, "%", "%%")) // a format
	if err == nil {
		_, err = g.call("__dl_seterr", p, 0)
	}
	if err == nil {
		_, err = g.call("free", p)
	}
	if err != nil {
		panic(err)
	}
}
