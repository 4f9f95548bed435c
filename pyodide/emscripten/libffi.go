package emscripten

// noFFI is what a call through ctypes raises as long as libffi's host half is
// not plugged in. Closures can be made even so, for "import ctypes" makes one;
// since nothing can be called through ctypes, nothing can call them.
const noFFI = "calling C functions through ctypes is not supported yet"

// doFFICall is ffi_call_js(cif, fn, rvalue, avalue).
func doFFICall(c call) {
	if c.p.Guest.FFICall != nil {
		c.p.Guest.FFICall(c.ctx, c.u32(0), c.u32(1), c.u32(2), c.u32(3))
		return
	}
	c.raise(noFFI)
	c.putZero(c.u32(2))
}

// doFFIClosureAlloc is ffi_closure_alloc_js(size, void **code).
func doFFIClosureAlloc(c call) uint64 {
	if c.p.Guest.FFIClosureAlloc != nil {
		return uint64(c.p.Guest.FFIClosureAlloc(c.ctx, c.u32(0), c.u32(1)))
	}
	if c.p.Guest.Malloc == nil {
		return 0
	}
	c.putZero(c.u32(1))
	return uint64(c.p.Guest.Malloc(c.ctx, c.u32(0)))
}

// doFFIClosureFree is ffi_closure_free_js(closure).
func doFFIClosureFree(c call) {
	switch {
	case c.p.Guest.FFIClosureFree != nil:
		c.p.Guest.FFIClosureFree(c.ctx, c.u32(0))
	case c.p.Guest.Free != nil:
		c.p.Guest.Free(c.ctx, c.u32(0))
	}
}

// doFFIClosurePrep is ffi_prep_closure_loc_js(closure, cif, fun, data, code).
func doFFIClosurePrep(c call) uint64 {
	if c.p.Guest.FFIClosurePrep != nil {
		return uint64(uint32(c.p.Guest.FFIClosurePrep(c.ctx, c.u32(0), c.u32(1), c.u32(2), c.u32(3), c.u32(4))))
	}
	return 0 // FFI_OK
}
