package emscripten

// noLibraries is what dlerror says as long as no linker is plugged in.
const noLibraries = "dynamic libraries are not supported yet"

// doDlopen is _dlopen_js(handle): 1, or 0 with dlerror set.
func doDlopen(c call) uint64 {
	if c.p.Guest.Dlopen != nil {
		return uint64(uint32(c.p.Guest.Dlopen(c.ctx, c.u32(0))))
	}
	c.dlError()
	return 0
}

// doDlsym is _dlsym_js(handle, symbol, int *index): an address or a slot, or 0
// with dlerror set.
func doDlsym(c call) uint64 {
	if c.p.Guest.Dlsym != nil {
		return uint64(c.p.Guest.Dlsym(c.ctx, c.u32(0), c.u32(1), c.u32(2)))
	}
	c.dlError()
	return 0
}

// doDlopenAsync is _emscripten_dlopen_js(handle, onsuccess, onerror, data),
// which CPython does not call: nothing waits for the callbacks.
func doDlopenAsync(c call) { c.dlError() }

func (c call) dlError() {
	if c.p.Guest.DlError != nil {
		c.p.Guest.DlError(c.ctx, noLibraries)
	}
}
