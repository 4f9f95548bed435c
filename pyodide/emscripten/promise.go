package emscripten

// doPromiseCreate is emscripten_promise_create(): a handle. Nothing ever waits
// for it: there is no event loop below the guest.
func doPromiseCreate(c call) uint64 {
	c.p.promises++
	return uint64(c.p.promises)
}

// runtimeName is what Python shows as the JavaScript runtime it runs on, in
// sys._emscripten_info.
const runtimeName = "wazero"

// doRuntime is _Py_emscripten_runtime(): a string that the guest frees.
func doRuntime(c call) uint64 { return uint64(c.mallocString(runtimeName)) }

// doTrampoline is _PyEM_TrampolineCall_JS(func, a, b, c). Threads come here: see
// package rewrite. CPython does only when no call trampoline has been installed, and
// takes 0 for a failure.
func doTrampoline(c call) uint64 {
	if op := c.u32(0); op > maxSlot && c.p.Guest.Threads != nil {
		return uint64(c.p.Guest.Threads.Op(c.ctx, op, c.u32(1), c.u32(2), c.u32(3)))
	}
	c.p.Guest.Raise(c.ctx, "no call trampoline is installed (_PyEM_TrampolineCall_JS)")
	return 0
}

// maxSlot is above the slots of functions, and below the operations of threads.
const maxSlot = 0xffffff00
