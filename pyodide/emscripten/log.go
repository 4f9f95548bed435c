package emscripten

import (
	"context"
	"strings"

	"coderunner/pyodide/abi"
)

// logMax bounds what a program can say through emscripten_log in all: nobody
// needs it, since C programs print to stderr.
const logMax = 64 << 10

// doLogFormatted is _emscripten_log_formatted(flags, text). All goes to the
// program's stderr; there is no console, and no stack of JavaScript to show.
func doLogFormatted(c call) { c.p.log(c, c.u32(1)) }

// doLogImpl is emscripten_log_impl_js(text) of Pyodide.
func doLogImpl(c call) { c.p.log(c, c.u32(0)) }

func (p *Process) log(c call, addr uint32) {
	text, _, ok := c.mem.CString(addr, pathMax)
	if !ok || p.logged+len(text) > logMax {
		return
	}
	p.logged += len(text) + 1
	p.stdio[2].Write(c.ctx, []byte(strings.TrimRight(text, "\n")+"\n"), false)
}

// raise sets a Python exception that says what is not there.
func (c call) raise(message string) {
	if c.p.Guest.Raise != nil {
		c.p.Guest.Raise(c.ctx, message)
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
		newCall(ctx, stack).raise("JavaScript is not available: there is no engine to run it (" + name + ")")
		if len(stack) > 0 {
			stack[0] = 0
		}
	}
}
