package rewrite

import (
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// LinuxErrno has the exceptions that CPython's C code makes of libc's errno carry
// other numbers: numbers has pairs of one of libc's and what stands for it. All
// of PyErr_SetFromErrno's kin call PyErr_SetFromErrnoWithFilenameObjects, whose
// new body does what CPython's does, in Python/errors.c. interrupted is libc's
// EINTR, after which the signals are looked at first.
func LinuxErrno(numbers [][2]int32, interrupted int32) Body {
	return Body{Export: "PyErr_SetFromErrnoWithFilenameObjects", Build: func(n Names) ([]byte, error) {
		var missing error
		call := func(name string) asm {
			f, ok := n.Export(name)
			if !ok {
				missing = fmt.Errorf("export %s missing", name)
			}
			return asm{}.idx(wasmbin.OpCall, f)
		}
		const exception, first, second, code, number, args, value = 0, 1, 2, 3, 4, 5, 6
		do := func(a asm, name string) asm { return a.op(call(name)...) }
		drop := func(a asm, name string) asm { return do(a, name).op(wasmbin.OpDrop) }
		leave := func(a asm) asm { return a.void(wasmbin.OpIf).i32(0).op(wasmbin.OpReturn).end() }

		a := asm{1, 4, byte(wasmbin.I32)}
		a = do(a, "__errno_location").op(wasmbin.OpI32Load, 2, 0).op(wasmbin.OpLocalTee, code).set(number)
		a = a.get(code).i32(interrupted).op(wasmbin.OpI32Eq).void(wasmbin.OpIf)
		a = leave(do(a, "PyErr_CheckSignals")).end()
		for _, pair := range numbers {
			a = a.i32(pair[1]).get(number).get(code).i32(pair[0]).op(wasmbin.OpI32Eq, wasmbin.OpSelect).set(number)
		}
		// Two items, three with one filename, five with two.
		a = a.i32(5).i32(3).get(second).op(wasmbin.OpSelect).i32(2).get(first).op(wasmbin.OpSelect)
		a = leave(do(a, "PyTuple_New").op(wasmbin.OpLocalTee, args, wasmbin.OpI32Eqz))
		a = do(a.get(code), "strerror")
		a = leave(do(a, "PyUnicode_FromString").op(wasmbin.OpLocalTee, value, wasmbin.OpI32Eqz))
		a = drop(do(a.get(args).i32(0).get(number), "PyLong_FromLong"), "PyTuple_SetItem")
		a = drop(a.get(args).i32(1).get(value), "PyTuple_SetItem")
		a = a.get(first).void(wasmbin.OpIf)
		a = drop(do(a.get(first), "Py_IncRef").get(args).i32(2).get(first), "PyTuple_SetItem")
		a = a.get(second).void(wasmbin.OpIf)
		a = drop(do(a.get(args).i32(3).i32(0), "PyLong_FromLong"), "PyTuple_SetItem")
		a = drop(do(a.get(second), "Py_IncRef").get(args).i32(4).get(second), "PyTuple_SetItem").end().end()
		a = do(a.get(exception).get(args).i32(0), "PyObject_Call").set(value)
		a = do(a.get(args), "Py_DecRef").get(value).void(wasmbin.OpIf)
		a = do(a.get(value), "PyObject_Type").op(wasmbin.OpLocalTee, code).get(value)
		a = do(do(do(a, "PyErr_SetObject").get(code), "Py_DecRef").get(value), "Py_DecRef").end()
		return a.i32(0).end(), missing
	}}
}
