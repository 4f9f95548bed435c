// Package libffi is the host's half of libffi, on which ctypes and cffi stand:
// calls of functions by pointer with a type that is known only when the call
// is made, and closures, which are functions made at run time.
//
// It reads libffi's structures in the guest's memory and puts arguments where
// the C ABI of wasm32 wants them. The table of functions is the dynamic
// linker's; package pyodide joins the two by the fields of [Config].
//
// # Structures
//
//	ffi_cif   abi +0, nargs +4, arg_types +8, rtype +12, bytes +16, flags +20, nfixedargs +24
//	ffi_type  size +0, alignment u16 +4, type u16 +6, elements +8
//	closure   slot +0, cif +4, fun +8, user_data +12
//
// # Where it is not as upstream
//
// A call through a pointer that is not a function raises an exception, where
// upstream ends the program. A closure is plain WebAssembly: it calls back
// without a detour through the host.
//
// # Sources
//
// libffi's src/wasm32/ffi.c as the pinned release of Pyodide has it in
// pyodide.asm.mjs (ffi_call_js, ffi_prep_closure_loc_js), and the C ABI,
// https://github.com/WebAssembly/tool-conventions/blob/main/BasicCABI.md.
//
// # Locking
//
// An [FFI] belongs to the goroutine that runs its interpreter.
//
// # Limits
//
// No complex numbers, as upstream. At most 255 arguments, 512 types of closures, and 1 MiB of
// structures by value.
//
// # Testing
//
// Signatures are read from fake memory, also by a fuzz test; calls and closures
// run against a small module, and through ctypes in package pyodide.
package libffi
