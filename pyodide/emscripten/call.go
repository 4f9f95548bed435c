package emscripten

import (
	"context"

	"coderunner/internal/machine/abi"
	"coderunner/pyodide/hostfn"
)

// pathMax bounds the strings taken for file names (PATH_MAX, with the NUL).
const pathMax = 4096

// call is one call of a host function. Its methods decode arguments and encode
// results; they are in the files of the functions that use them.
type call struct {
	ctx   context.Context
	p     *Process
	mem   hostfn.Mem
	stack []uint64
}

func (c call) i32(i int) int32  { return int32(uint32(c.stack[i])) }
func (c call) u32(i int) uint32 { return uint32(c.stack[i]) }
func (c call) i64(i int) int64  { return int64(c.stack[i]) }

// path reads the file name whose address is argument i. There is memory at
// address 0, but never a name.
func (c call) path(i int) (string, abi.Errno) {
	if c.u32(i) == 0 {
		return "", abi.EFAULT
	}
	s, long, ok := c.mem.CString(c.u32(i), pathMax-1)
	switch {
	case long:
		return "", abi.ENAMETOOLONG
	case !ok:
		return "", abi.EFAULT
	}
	return s, abi.OK
}

// vararg reads argument i of the guest's variable ones: addr points to them.
func (c call) vararg(addr uint32) (uint32, abi.Errno) {
	v, ok := c.mem.Uint32(addr)
	if !ok {
		return 0, abi.EFAULT
	}
	return v, abi.OK
}

// fault is EFAULT unless ok.
func fault(ok bool) abi.Errno {
	if !ok {
		return abi.EFAULT
	}
	return abi.OK
}

// The adapters turn the shapes that the functions of this package have into
// the one of the table.

// sys is for __syscall functions: a result, or an errno made negative.
func sys(f func(call) (int32, abi.Errno)) hostfn.Func {
	return func(ctx context.Context, stack []uint64) {
		n, errno := f(newCall(ctx, stack))
		if errno != abi.OK {
			n = -int32(errno)
		}
		stack[0] = uint64(uint32(n))
	}
}

// sys0 is for __syscall functions whose result is 0.
func sys0(f func(call) abi.Errno) hostfn.Func {
	return func(ctx context.Context, stack []uint64) {
		stack[0] = uint64(uint32(-int32(f(newCall(ctx, stack)))))
	}
}

// wasi is for functions that answer with a positive errno.
func wasi(f func(call) abi.Errno) hostfn.Func {
	return func(ctx context.Context, stack []uint64) {
		stack[0] = uint64(uint32(f(newCall(ctx, stack))))
	}
}

// value is for functions with a result that is not an errno.
func value(f func(call) uint64) hostfn.Func {
	return func(ctx context.Context, stack []uint64) {
		stack[0] = f(newCall(ctx, stack))
	}
}

// void is for functions without a result.
func void(f func(call)) hostfn.Func {
	return func(ctx context.Context, stack []uint64) { f(newCall(ctx, stack)) }
}

// zero is for functions that always return 0.
func zero(_ context.Context, stack []uint64) { stack[0] = 0 }

// nothing is for functions without a result that need not do anything.
func nothing(context.Context, []uint64) {}

func newCall(ctx context.Context, stack []uint64) call {
	p := fromContext(ctx)
	return call{ctx: ctx, p: p, mem: p.mem, stack: stack}
}

// waiting calls f, which may wait as long as its context lasts. It does not
// return if the call's context is done. Other threads run meanwhile: f touches
// neither the descriptors nor what is decoded from memory.
func (c call) waiting(f func(context.Context) (int, abi.Errno)) (int, abi.Errno) {
	var n int
	var errno abi.Errno
	c.p.Wait(c.ctx, func(ctx context.Context) { n, errno = f(ctx) })
	if errno == abi.EINTR && c.ctx.Err() != nil {
		stop(c.ctx)
	}
	return n, errno
}
