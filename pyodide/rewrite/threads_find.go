package rewrite

import (
	"bytes"
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// ThreadState is what is a thread's own and has one place in the module, read from
// the code that uses it.
type ThreadState struct {
	Main    uint32 // struct pthread of the main thread
	Current uint32 // _Py_tss_tstate: CPython's thread state, 0 without the GIL
	Errno   uint32
	CXX     uint32 // __cxa_get_globals: two words
	Values  uint32 // of pthread_getspecific: ThreadKeys words

	Base, End string // exports of the globals with the bounds of the stack
}

// ThreadKeys is PTHREAD_KEYS_MAX.
const ThreadKeys = 128

// finder reads addresses and offsets from functions whose code is simple. The first
// thing that is missing sticks.
type finder struct {
	m   *wasmbin.Module
	err error
}

func (f *finder) fail(format string, a ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, a...)
	}
}

func (f *finder) export(name string) uint32 {
	i, ok := f.m.ExportedFunc(name)
	if !ok {
		f.fail("the module exports no function %s", name)
	}
	return i
}

func (f *finder) imported(name string) uint32 {
	i, ok := f.m.ImportedFunc("env", name)
	if !ok {
		f.fail("the import env.%s is missing", name)
	}
	return i
}

// code returns the instructions of an exported function.
func (f *finder) code(export string) (out []wasmbin.Instr) {
	i, ok := f.m.ExportedFunc(export)
	if !ok || int(i) < f.m.ImportedFuncs {
		f.fail("the module exports no function %s of its own", export)
		return nil
	}
	c := f.m.CodeOf(f.m.Bytes, f.m.Bodies[int(i)-f.m.ImportedFuncs], f.m.FuncType(i))
	var in wasmbin.Instr
	for c.Next(&in) {
		out = append(out, in)
	}
	return out
}

// constant returns the number with which a function begins.
func (f *finder) constant(export string) int32 {
	code := f.code(export)
	if len(code) == 0 || code[0].Op != wasmbin.OpI32Const {
		f.fail("%s does not begin with a constant", export)
		return 0
	}
	return code[0].Value
}

// offset returns the offset of the first instruction of a kind.
func (f *finder) offset(export string, op byte) uint32 {
	for _, in := range f.code(export) {
		if in.Op == op {
			return f.offsetOf(&in)
		}
	}
	f.fail("%s has no instruction %#x", export, op)
	return 0
}

// offsetOf returns the offset of a load or store.
func (f *finder) offsetOf(in *wasmbin.Instr) uint32 {
	r := wasmbin.NewReader(f.m.Bytes, in.Imm, in.End, "code")
	r.U32()
	off := r.U32()
	if off >= 128 {
		f.fail("an offset of %d bytes", off)
	}
	return off
}

// values returns the address of an array of words that a function indexes.
func (f *finder) values(export string) uint32 {
	code := f.code(export)
	for i := range len(code) - 2 {
		if code[i].Op == wasmbin.OpI32Const && code[i+1].Op == wasmbin.OpI32Add && code[i+2].Op == wasmbin.OpI32Load {
			return uint32(code[i].Value)
		}
	}
	f.fail("%s does not index an array of words", export)
	return 0
}

// global returns the export of the global that a function returns.
func (f *finder) global(export string) string {
	code := f.code(export)
	if len(code) == 0 || code[0].Op != wasmbin.OpGlobalGet {
		f.fail("%s does not begin with a global", export)
		return ""
	}
	for _, e := range f.m.Exports {
		if e.Kind == wasmbin.KindGlobal && e.Index == code[0].A {
			return e.Name
		}
	}
	return fmt.Sprint(globalPrefix, code[0].A)
}

// patchJoin has _thread's join call PyThread_join_thread, with the handle that it
// loads and drops. It was compiled when the call was known to fail: between
// PyEval_SaveThread and PyEval_RestoreThread stands the error's number.
func (r *rewriter) patchJoin() error {
	f := finder{m: r.m}
	save, restore, join := f.export("PyEval_SaveThread"), f.export("PyEval_RestoreThread"), f.export("PyThread_join_thread")
	if f.err != nil {
		return fmt.Errorf("rewrite: threads: %w", f.err)
	}
	head := asm(nil).idx(wasmbin.OpCall, save).set(2)
	tail := asm(nil).set(3).get(2).idx(wasmbin.OpCall, restore)
	find := bytes.Join([][]byte{head, asm(nil).i32(r.threads.einval), tail}, nil)
	found := 0
	for i, at := range r.m.Bodies {
		if r.bodies[i].at != at { // replaced
			continue
		}
		b := r.in[at.Start:at.End]
		j := bytes.Index(b, find)
		if j < 0 {
			continue
		}
		found++
		handle, ok := droppedLoad(b)
		if !ok {
			return fmt.Errorf("rewrite: threads: the function that joins a thread does not load its handle")
		}
		call := asm(nil).get(0).idx(wasmbin.OpI32Load, 2)
		call = wasmbin.AppendU32(call, handle)
		b = bytes.Join([][]byte{b[:j], head, asm(call).idx(wasmbin.OpCall, join), tail, b[j+len(find):]}, nil)
		patched, ferr := r.m.ReadBody(b, 0, len(b))
		if ferr != nil {
			return fmt.Errorf("rewrite: threads: join: %w", error(ferr))
		}
		r.bodies[i] = body{b: b, at: patched}
	}
	if found != 1 {
		return fmt.Errorf("rewrite: threads: %d functions join a thread as _thread does, want 1", found)
	}
	return nil
}

// droppedLoad returns the offset at which code loads a word of its first parameter
// and drops it.
func droppedLoad(b []byte) (offset uint32, ok bool) {
	load := asm(nil).get(0).op(wasmbin.OpI32Load, 2)
	for at := 0; ; at++ {
		j := bytes.Index(b[at:], load)
		if j < 0 {
			return 0, false
		}
		at += j
		r := wasmbin.NewReader(b, at+len(load), len(b), "code")
		if offset = r.U32(); r.Byte() == wasmbin.OpDrop && r.Err() == nil {
			return offset, true
		}
	}
}
