package jsffi

import (
	"context"

	"coderunner/pyodide/hostfn"
)

// coreRows returns what the runtime itself calls: at boot, and about errors.
func coreRows() hostfn.Table {
	var t hostfn.Table
	t = append(t, answering("pre.js", 0, "there is no JavaScript half to initialise", "pyodide_js_init :")...)
	t = append(t, does("jsverror.wat", "Jsv_GetError_import :e", hostfn.Full, "", getError)...)
	t = append(t, does("jsverror.wat", "JsvError_Check e:i value", hostfn.Full, "", checkError)...)
	t = append(t, answering("error_handling.c", 0, "for Pyodide's own tests", "fail_test :")...)
	t = append(t, answering("error_handling.c", 0, "stderr is captured by whoever reads it", "capture_stderr :")...)
	t = append(t, answering("error_handling.c", nullRef, "stderr is captured by whoever reads it", "restore_stderr :e")...)
	t = append(t, failing("error_handling.c", errorRef, "new_error iei:e type msg err")...)
	t = append(t, failing("error_handling.c", 0, "raw_call_js e: func")...)
	t = append(t, failing("_pyodide_core.c", 0, "set_pyodide_module e: mod")...)
	t = append(t, answering("fs.ts", 0, "for Pyodide's own tests", "emscripten_set_up_async_input_device_js :i")...)

	// References to JavaScript values. Upstream throws at an invalid one; its
	// caller goes on with a null if it gets the chance.
	t = append(t, failing("hiwire.c", 0, "hiwire_invalid_ref_js ii: type ref")...)
	t = append(t, failing("hiwire.c", errorRef, "__hiwire_deduplicate_new :e")...)
	t = append(t, answering("hiwire.c", 0, "nothing is kept", "__hiwire_deduplicate_get ee:i map value",
		"__hiwire_deduplicate_set eei: map value ref", "__hiwire_deduplicate_delete ee: map value")...)
	return t
}

func getError(_ context.Context, stack []uint64) { stack[0] = errorRef }

func checkError(_ context.Context, stack []uint64) {
	if stack[0] == errorRef {
		stack[0] = 1
	} else {
		stack[0] = 0
	}
}

// handleNextResult is handle_next_result_js(result, int *done, char **message),
// whose failure is a done of -1.
func handleNextResult(ctx context.Context, stack []uint64) {
	raise(ctx, "handle_next_result_js")
	if s, ok := ctx.Value(contextKey{}).(Host); ok {
		s.Mem.PutUint32(uint32(stack[1]), uint32(0xffffffff))
	}
	stack[0] = errorRef
}
