package jsffi

import "coderunner/pyodide/hostfn"

// suspenderRows returns the functions that switch stacks while a promise is
// waited for (JSPI). Nothing can be suspended here.
func suspenderRows() hostfn.Table {
	const source = "stack_switching/suspenders.c"
	var t hostfn.Table
	t = append(t, failing(source, errorRef, "saveState :e")...)
	t = append(t, answering(source, 0, "nothing is suspended", "restoreState e: state", "set_suspender e: suspender")...)
	t = append(t, answering(source, nullRef, "nothing is suspended", "get_suspender :e")...)
	// The first tells that it failed, the second why.
	t = append(t, answering(source, errorRef, "fails; the reason is raised by JsvPromise_Syncify_handleError", "syncifyHandler ee:e x y")...)
	t = append(t, failing(source, 0, "JsvPromise_Syncify_handleError :")...)
	return t
}
