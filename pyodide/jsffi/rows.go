package jsffi

import "coderunner/pyodide/hostfn"

// Rows returns the functions of this package, all of them in module env.
func Rows() hostfn.Table {
	var t hostfn.Table
	t = append(t, coreRows()...)
	t = append(t, jslibRows()...)
	t = append(t, jsproxyRows()...)
	t = append(t, pyproxyRows()...)
	t = append(t, python2jsRows()...)
	t = append(t, suspenderRows()...)
	return t
}
