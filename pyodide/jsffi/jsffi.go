// Package jsffi answers the imports of Pyodide's JavaScript interface
// (hiwire, JsProxy, PyProxy, the conversions) in a world without JavaScript.
//
// No function here evaluates, holds or makes a JavaScript value. The guest
// gets into this interface through one door, the initialisation of its module
// _pyodide_core, which fails with an ImportError that says so; the functions
// behind it are there all the same, since a guest with ctypes can call
// whatever it exports. Package pyodide gives Python programs small modules in
// place of js and pyodide.ffi, which do not come here.
//
// # How a function fails
//
// It sets a Python exception through [Host.Raise] and returns what the C
// function that called it takes for a failure. Upstream writes that down in
// the macro that defines the function (error_handling.h):
//
//	EM_JS_NUM   -1
//	EM_JS_REF   a null pointer
//	EM_JS_VAL   the error value, which JsvError_Check knows
//	EM_JS_BOOL  false, and no exception: it is an answer
//
// and for those defined without one of the macros, callers were read.
//
// # Sources
//
// Pyodide's src/core and pyodide.asm.mjs, of the pinned release. Each row names
// its file.
package jsffi

import (
	"context"

	"coderunner/pyodide/hostfn"
)

// Host is what the functions need of one interpreter.
type Host struct {
	// Raise sets a Python exception. The guest sees it when the host function
	// has returned. Nil: there are no exceptions.
	Raise func(ctx context.Context, message string)
	// Mem is the main module's memory; it may be missing.
	Mem hostfn.Mem
}

type contextKey struct{}

// NewContext returns the context that the exports of an instance are called
// with.
func NewContext(ctx context.Context, h Host) context.Context {
	return context.WithValue(ctx, contextKey{}, h)
}

// Thrown is the end of a guest that called a function which throws in
// JavaScript and therefore never returns. Functions panic with it.
type Thrown struct{ Name string }

func (e *Thrown) Error() string { return message(e.Name) }

// The externrefs that the guest gets from here: wazero passes them on as they
// are. No other is ever made.
const (
	nullRef  = 0
	errorRef = 1 // the value of Jsv_GetError
)

// message names the import, for whoever looks for it, and the way out.
func message(name string) string {
	return "JavaScript is not available: this Python runs without a JavaScript engine, use Python modules instead (" + name + ")"
}

func raise(ctx context.Context, name string) {
	if s, _ := ctx.Value(contextKey{}).(Host); s.Raise != nil {
		s.Raise(ctx, message(name))
	}
}
