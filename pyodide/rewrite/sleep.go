package rewrite

import (
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// SleepByPoll replaces libc's waiting, which spins in wasm, by a host call:
// emscripten_thread_sleep(ms f64), on which nanosleep, clock_nanosleep, usleep
// and sleep stand, calls env.__syscall_poll(0, 0, ms) with the milliseconds
// rounded up, and ignores its result.
func SleepByPoll() Body {
	return Body{Export: "emscripten_thread_sleep", Build: func(n Names) ([]byte, error) {
		poll, ok := n.Import("env", "__syscall_poll")
		if !ok {
			return nil, fmt.Errorf("import env.__syscall_poll missing")
		}
		c := asm{0}.i32(0).i32(0).get(0).op(wasmbin.OpF64Ceil)
		c = c.op(wasmbin.OpF64Const, 0, 0, 0, 0, 0, 0, 0, 0, wasmbin.OpF64Max) // less than 0 means for ever to poll
		c = c.misc(wasmbin.MiscI32TruncSatF64S)                                // not a number: 0
		return c.idx(wasmbin.OpCall, poll).op(wasmbin.OpDrop).end(), nil
	}}
}
