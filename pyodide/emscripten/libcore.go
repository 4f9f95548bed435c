package emscripten

import (
	"context"
	"fmt"
	"strings"

	"coderunner/internal/machine/abi"
)

// doExit is exit(3) and proc_exit. Emscripten's exit runs atexit handlers and
// flushes C's streams; CPython has done that by the time it calls exit, and
// the interpreter is thrown away.
func doExit(c call) { panic(&Exit{c.i32(0)}) }

func doAbort(c call) { panic(&Abort{"abort called"}) }

func doAssertFail(c call) {
	text := func(i int) string {
		s, _, ok := c.mem.CString(c.u32(i), 1024)
		if !ok {
			return "?"
		}
		return s
	}
	panic(&Abort{fmt.Sprintf("assertion failed: %s, at %s:%d in %s", text(0), text(1), c.i32(2), text(3))})
}

const (
	pageSize = 64 << 10
	maxHeap  = 1<<32 - pageSize // a page less than there can be: a size fits 32 bits
)

// growAhead is how much more memory than requested is taken at most.
const growAhead = 16 << 20

// doResizeHeap is emscripten_resize_heap(size): whether the memory is now that
// large. As upstream, it grows by a fifth more than asked, if it can, so that
// not every malloc comes here.
func doResizeHeap(c call) uint64 {
	want, have := uint64(c.u32(0)), uint64(c.mem.Size())
	if want > maxHeap {
		return 0
	}
	if want <= have {
		return 1
	}
	ahead := min(max(want, have+min(have/5, growAhead)), maxHeap)
	for _, size := range [...]uint64{ahead, want} {
		if c.mem.Grow(uint32((size - have + pageSize - 1) / pageSize)) {
			return 1
		}
	}
	return 0
}

func doGetHeapMax(call) uint64 { return maxHeap }

// logMax bounds what a program can say through emscripten_log in all: nobody
// needs it, since C programs print to stderr.
const logMax = 64 << 10

// doLogFormatted is _emscripten_log_formatted(flags, text). All goes to the
// program's stderr; there is no console, and no stack of JavaScript to show.
func doLogFormatted(c call) { c.log(c.u32(1)) }

// doLogImpl is emscripten_log_impl_js(text) of Pyodide.
func doLogImpl(c call) { c.log(c.u32(0)) }

func (c call) log(addr uint32) {
	p := c.p
	text, _, ok := c.mem.CString(addr, pathMax)
	if !ok || p.logged+len(text) > logMax {
		return
	}
	p.logged += len(text) + 1
	if f, errno := p.fds.get(2); errno == abi.OK {
		f.Write(c.ctx, []byte(strings.TrimRight(text, "\n")+"\n"))
	}
}

// doSystem is _emscripten_system(command): a question whether there is a shell
// if there is no command.
func doSystem(c call) uint64 {
	if c.u32(0) == 0 {
		return 0
	}
	return negative(abi.ENOSYS)
}

func negative(errno abi.Errno) uint64 { return uint64(uint32(-int32(errno))) }

// noJavaScript is for the functions whose work is to run JavaScript that is
// given to them. They never do.
func noJavaScript(name string) func(context.Context, []uint64) {
	return func(ctx context.Context, stack []uint64) {
		c := newCall(ctx, stack)
		c.p.Guest.Raise(c.ctx, "JavaScript is not available: there is no engine to run it ("+name+")")
		if len(stack) > 0 {
			stack[0] = 0
		}
	}
}
