// Package hostfn is the plumbing between a WebAssembly guest and functions
// written in Go: a table of what is offered, checked access to guest memory,
// and the registration of the table on a wazero runtime.
//
// It knows nothing of files, clocks or Python. The rows come from the packages
// emscripten and jsffi, and package pyodide joins them.
//
// # Calling convention
//
// A [Func] gets its arguments where wazero passes them and leaves its result
// in stack[0]. The upper half of an i32 argument is garbage when it arrives;
// [Table.Instantiate] clears it, once, for every function.
//
// # Instances
//
// One host module serves every interpreter of a runtime, so a [Func] keeps no
// state of its own: it finds the state of the calling interpreter in its
// context. That includes the memory, which is always the main module's: the
// caller may be a side module that has none.
//
// # Testing
//
// testdata/imports.txt lists the function imports of the pinned release. Package
// pyodide's tests compare all rows with it, and it with the module.
package hostfn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

// Func does the work of one import. See the package comment for the calling
// convention. It must not keep stack.
type Func func(ctx context.Context, stack []uint64)

// Support is how much of an upstream function is implemented.
type Support uint8

// The levels. A function that is Absent is still there to be called: it fails
// in the way its callers in the guest understand.
const (
	Absent Support = iota
	Partial
	Full
)

func (s Support) String() string {
	switch s {
	case Absent:
		return "absent"
	case Partial:
		return "partial"
	case Full:
		return "full"
	}
	return fmt.Sprintf("Support(%d)", uint8(s))
}

// Row describes one import and does its work.
type Row struct {
	Module, Name string
	// Sig is the type in one letter a value, as in "iij:i": i for i32, j for
	// i64, f for f32, d for f64, e for externref.
	Sig string
	// Args names the parameters, separated by spaces.
	Args string
	// Errnos names the errnos that the function fails with, separated by spaces.
	Errnos string
	// Source is the upstream file that defines the function.
	Source  string
	Support Support
	// Note is what is missing, or different from upstream.
	Note string
	Fn   Func
}

// Params returns the types of the row's parameters.
func (r *Row) Params() []api.ValueType {
	in, _, _ := strings.Cut(r.Sig, ":")
	return valueTypes(in)
}

// Results returns the types of the row's results.
func (r *Row) Results() []api.ValueType {
	_, out, _ := strings.Cut(r.Sig, ":")
	return valueTypes(out)
}

var letterTypes = map[byte]api.ValueType{
	'i': api.ValueTypeI32, 'j': api.ValueTypeI64,
	'f': api.ValueTypeF32, 'd': api.ValueTypeF64,
	'e': api.ValueTypeExternref,
}

func valueTypes(letters string) []api.ValueType {
	types := make([]api.ValueType, len(letters))
	for i := range letters {
		types[i] = letterTypes[letters[i]]
	}
	return types
}

// Letters returns types as a row's Sig has them.
func Letters[T ~byte](types []T) (list string) {
	for _, t := range types {
		for l, is := range letterTypes {
			if is == api.ValueType(t) {
				list += string(l)
			}
		}
	}
	return list
}

// checkSig reports whether s is well formed.
func checkSig(s string) error {
	in, out, ok := strings.Cut(s, ":")
	if !ok {
		return fmt.Errorf("signature %q has no colon", s)
	}
	for _, l := range []byte(in + out) {
		if _, ok := letterTypes[l]; !ok {
			return fmt.Errorf("signature %q: unknown type %q", s, l)
		}
	}
	return nil
}

// Trap is an error after which the interpreter is dead: the guest did not return
// from a call. Its stack must be unwound with the error.
type Trap struct{ Err error }

func (t Trap) Error() string { return t.Err.Error() }

func (t Trap) Unwrap() error { return t.Err }

// Trapped reports whether the interpreter died of an error.
func Trapped(err error) bool {
	_, ok := errors.AsType[Trap](err)
	return ok
}
