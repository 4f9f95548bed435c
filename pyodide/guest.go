package pyodide

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/jsffi"
	"coderunner/pyodide/rewrite"
)

// errClosed is returned for calls of an interpreter that was closed or died.
var errClosed = errors.New("the interpreter is closed")

// guest calls the module's exports. It belongs to the goroutine that holds the
// interpreter; the first call that does not return leaves it dead.
//
// An api.Function must not be entered again while it runs, and a host function
// may call back into the guest: so each call takes an idle one, or a new one.
// They are kept because each has a stack that grew by copying.
type guest struct {
	in     *instance
	ctx    context.Context
	charge func(bytes int64) bool // reserves host memory held for the program; nil: not charged
}

// call calls an export with i32 arguments and returns its result, 0 if it has
// none.
func (g guest) call(name string, args ...uint32) (uint32, error) {
	if g.in.dead {
		return 0, errClosed
	}
	f := g.in.exports[name]
	if delete(g.in.exports, name); f == nil {
		if f = g.in.mod.ExportedFunction(name); f == nil {
			return 0, fmt.Errorf("the module does not export %s", name)
		}
	}
	// All exports that the host calls have one result at most. Asking for the
	// definition would have wazero describe each function of the module.
	stack := make([]uint64, max(len(args), 1))
	for i, a := range args {
		stack[i] = uint64(a)
	}
	g.in.calls = append(g.in.calls, f)
	err := f.CallWithStack(g.ctx, stack)
	g.in.calls = g.in.calls[:len(g.in.calls)-1]
	if err != nil {
		g.in.dead = true
		return 0, fmt.Errorf("call %s: %w", name, err)
	}
	if g.in.pending == nil {
		g.in.pending = g.in.mod.ExportedGlobal(rewrite.FlagGlobal)
	}
	if tag := g.in.pending.Get(); tag != 0 {
		g.in.dead = true // unwound frames that do not expect it
		return 0, fmt.Errorf("call %s (%d): %w", name, tag, errUncaught)
	}
	g.in.exports[name] = f
	return uint32(stack[0]), nil
}

// alloc copies b into fresh guest memory. The caller frees it.
func (g guest) alloc(b []byte) (uint32, error) {
	p, err := g.call("malloc", uint32(len(b)))
	if err != nil {
		return 0, err
	}
	if p == 0 || !g.in.mod.Memory().Write(p, b) {
		return 0, fmt.Errorf("allocate %d bytes in the guest: %w", len(b), errNoMemory)
	}
	return p, nil
}

var errNoMemory = errors.New("out of memory")

// cstring copies s and a NUL into fresh guest memory. The caller frees it.
func (g guest) cstring(s string) (uint32, error) { return g.alloc(append([]byte(s), 0)) }

// str makes a Python str of s.
func (g guest) str(s string) (object uint32, err error) {
	p, err := g.alloc([]byte(s))
	if err != nil {
		return 0, err
	}
	if object, err = g.object("PyUnicode_FromStringAndSize", p, uint32(len(s))); err != nil {
		return 0, err
	}
	_, err = g.call("free", p)
	return object, err
}

// object calls a function of the C API that returns a new reference or NULL.
func (g guest) object(name string, args ...uint32) (uint32, error) {
	o, err := g.call(name, args...)
	if err != nil {
		return 0, err
	}
	if o == 0 {
		return 0, fmt.Errorf("call %s: %w", name, g.exception())
	}
	return o, nil
}

// errUncaught ends a call that C++ or longjmp unwound.
var errUncaught = errors.New("an exception of C++ or a longjmp that nothing catches")

// trapOf returns the trap's message, "" if err is not a trap.
func trapOf(err error) string {
	if aborted := (*emscripten.Abort)(nil); errors.As(err, &aborted) {
		return aborted.Error()
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if err == errUncaught || fmt.Sprintf("%T", err) == "*wasmruntime.Error" { // which wazero does not export
			return err.Error()
		}
	}
	return ""
}

// exception clears the pending Python exception and returns it as an error.
func (g guest) exception() error {
	exc, err := g.call("PyErr_GetRaisedException")
	if err != nil {
		return err
	}
	if exc == 0 {
		return errors.New("NULL without an exception")
	}
	repr, err := g.call("PyObject_Repr", exc)
	if err != nil || repr == 0 {
		return errors.Join(errors.New("a Python exception without repr"), err)
	}
	text, err := g.text(repr, maxRepr)
	if err != nil {
		return err
	}
	return &guestError{"a Python exception: " + text}
}

// maxRepr bounds an exception's repr in bytes.
const maxRepr = 64 << 10

// Decoding a str over freeText bytes reserves textCost times its size.
const (
	freeText = 1 << 20
	textCost = 3
)

// text returns the text of a str object of at most limit bytes and drops the
// reference.
func (g guest) text(object, limit uint32) (string, error) {
	size, err := g.call("malloc", 4)
	if err != nil {
		return "", err
	}
	p, err := g.object("PyUnicode_AsUTF8AndSize", object, size)
	if err != nil {
		return "", err
	}
	mem := g.in.mod.Memory()
	n, ok := mem.ReadUint32Le(size)
	b, ok2 := mem.Read(p, n)
	if !ok || !ok2 {
		return "", fmt.Errorf("read a str of the guest: address out of range")
	}
	if n > limit {
		return "", &guestError{fmt.Sprintf("a str of %d bytes, where %d are read at most", n, limit)}
	}
	if n > freeText && g.charge != nil && !g.charge(textCost*int64(n)) {
		return "", &guestError{fmt.Sprintf("a str of %d bytes, which do not fit the memory limit", n)}
	}
	s := string(b)
	if _, err := g.call("free", size); err != nil {
		return "", err
	}
	_, err = g.call("Py_DecRef", object)
	return s, err
}

// module compiles source and runs it as a module of the given name.
func (g guest) module(name, source string) (object uint32, err error) {
	const fileInput = 257 // Py_file_input
	src, err := g.cstring(source)
	if err != nil {
		return 0, err
	}
	file, err := g.cstring("<" + name + ">")
	if err != nil {
		return 0, err
	}
	minusOne := ^uint32(0) // the interpreter's own optimisation level
	code, err := g.object("Py_CompileStringExFlags", src, file, fileInput, 0, minusOne)
	if err != nil {
		return 0, err
	}
	cname, err := g.cstring(name)
	if err != nil {
		return 0, err
	}
	if object, err = g.object("PyImport_ExecCodeModule", cname, code); err != nil {
		return 0, err
	}
	for _, p := range []uint32{src, file, cname} {
		if _, err := g.call("free", p); err != nil {
			return 0, err
		}
	}
	_, err = g.call("Py_DecRef", code)
	return object, err
}

// attr returns an attribute.
func (g guest) attr(object uint32, name string) (uint32, error) {
	p, err := g.cstring(name)
	if err != nil {
		return 0, err
	}
	o, err := g.object("PyObject_GetAttrString", object, p)
	if err != nil {
		return 0, err
	}
	_, err = g.call("free", p)
	return o, err
}

// raise sets a Python exception of a builtin class, from within a host function.
// The caller may be C code that runs without the thread state, as under ctypes.
func (g guest) raise(class, message string) error {
	sym, err := g.in.compiled.symbol("PyExc_" + class)
	if err != nil {
		return err
	}
	exc, ok := g.in.mod.Memory().ReadUint32Le(sym)
	if !ok {
		return fmt.Errorf("no exception class at %#x", sym)
	}
	p, err := g.cstring(message)
	if err != nil {
		return err
	}
	held, err := g.call("PyGILState_Ensure")
	if err != nil {
		return err
	}
	if _, err := g.call("PyErr_SetString", exc, p); err != nil {
		return err
	}
	if _, err := g.call("PyGILState_Release", held); err != nil {
		return err
	}
	_, err = g.call("free", p)
	return err
}

// store writes consecutive little-endian words.
func (g guest) store(addr uint32, words ...uint32) error {
	b := make([]byte, 0, 4*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	if !g.in.mod.Memory().Write(addr, b) {
		return fmt.Errorf("write to the guest at %#x: address out of range", addr)
	}
	return nil
}

// apply calls a function object of the guest with a str and returns the str that
// it returns, of at most limit bytes.
func (g guest) apply(function uint32, text string, limit uint32) (string, error) {
	result, err := g.callOne(function, text)
	if err != nil {
		return "", err
	}
	return g.text(result, limit)
}

// callOne calls a function object of the guest with a str.
func (g guest) callOne(function uint32, text string) (result uint32, err error) {
	arg, err := g.str(text)
	if err != nil {
		return 0, err
	}
	if result, err = g.object("PyObject_CallOneArg", function, arg); err == nil {
		_, err = g.call("Py_DecRef", arg)
	}
	return result, err
}

// context adds the interpreter's host state, which host functions read, to the
// context of a call.
func (in *instance) context(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, loaderKey{}, in)
	return jsffi.NewContext(emscripten.NewContext(ctx, in.proc), jsffi.Host{Raise: in.raise, Mem: in.mem})
}

// callback calls an export from within a host function. A failure unwinds the
// guest and becomes the error of the call in progress.
func (in *instance) callback(ctx context.Context, name string, args ...uint32) uint32 {
	v, err := guest{in: in, ctx: ctx}.call(name, args...)
	if err != nil {
		panic(err)
	}
	return v
}

// raise sets a NotImplementedError, once Python has started: constructors call
// the host before.
func (in *instance) raise(ctx context.Context, message string) {
	if !in.initialized {
		return
	}
	if err := (guest{in: in, ctx: ctx}).raise("NotImplementedError", message); err != nil {
		panic(err)
	}
}

// dlError sets the message of dlerror.
func (in *instance) dlError(ctx context.Context, message string) {
	g := guest{in: in, ctx: ctx}
	p, err := g.cstring(strings.ReplaceAll(message, "%", "%%")) // a format
	if err == nil {
		_, err = g.call("__dl_seterr", p, 0)
	}
	if err == nil {
		_, err = g.call("free", p)
	}
	if err != nil {
		panic(err)
	}
}

// guest returns the module's exports, with the host functions bound to ctx and
// this instance.
func (in *instance) guest(ctx context.Context) guest {
	return guest{in: in, ctx: in.context(ctx)}
}

var errOutOfRange = errors.New("address out of range")
