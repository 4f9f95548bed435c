package pyodide

import "coderunner/pyodide/rewrite"

// installTrampoline tells CPython to call C functions through the trampoline
// that rewrite put into the module. CPython calls functions with more arguments
// than they take, which wasm refuses; the trampoline looks the arity up in a
// table with a byte for each table slot.
//
// Upstream's own trampoline needs wasm GC (ref.test); see CPython's
// Python/emscripten_trampoline.c.
func (in *instance) installTrampoline(g guest) error {
	info := in.rt.module.info
	arity := info.Arity()
	table, err := g.alloc(arity)
	if err != nil {
		return err
	}
	if err := in.setGlobal(rewrite.ArityTable, table); err != nil {
		return err
	}
	if err := in.setGlobal(rewrite.ArityLen, uint32(len(arity))); err != nil {
		return err
	}
	offset, err := in.rt.symbol("_PyEM_EMSCRIPTEN_TRAMPOLINE_OFFSET")
	if err != nil {
		return err
	}
	runtime, err := in.rt.symbol("_PyRuntime")
	if err != nil {
		return err
	}
	at, ok := in.mod.Memory().ReadUint32Le(offset)
	if !ok {
		return errOutOfRange
	}
	return g.store(runtime+at, info.Trampoline)
}
