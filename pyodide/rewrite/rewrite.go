// Package rewrite rewrites a WebAssembly module of Pyodide's kind (Emscripten's
// main module, or a side module out of a wheel) so that it runs on an engine
// without exception handling, can be stopped, and starts fast.
//
// In one go it
//
//   - lowers legacy exception handling to plain control flow;
//   - adds an interrupt check to each loop header, which is also a safepoint for
//     the Go runtime, and splits memory.fill, memory.copy and memory.init of
//     variable size into chunks with a check between;
//   - moves a library's global offset table from imports into its memory;
//   - replaces function bodies (Options.Bodies);
//   - on request has the host run CPython's threads (Options.Threads);
//   - exports what an embedder or a snapshot needs and the module hides;
//   - on request makes the lean form of a main module (Options.Lean);
//   - avoids shapes that wazero's compiler turns into slow code, or slowly (Passes).
//
// RATIONALE.md has the reasons, and what exactly the rewritten code does.
//
// # Exports and imports that are added
//
// A main module defines and exports, a side module imports from "env", these
// mutable i32 globals:
//
//	__eh_flag         number of the pending exception's tag, 0: none
//	__eh_val          its payload
//	__interrupt_flag  not 0: the next safepoint executes unreachable
//
// A main module exports __interrupt_fuel, too, the loop headers until its next
// safepoint, which hosts must not use; side modules do not export theirs.
//
// After a call of its own into wasm, or an instantiation with a start section,
// the host tests __eh_flag and sets it to 0; while it calls on behalf of wasm it
// leaves the flag as it is. After a trap the instance is unusable. A mutable global
// N (index in the input) that has no export yet is exported as __global_N. A
// main module's table N without an export is exported as __table_N, and two
// functions __table_size_N: () -> i32 and __table_grow_N: (i32) -> i32 are added
// for each table, the latter filling with null. With Options.Trampoline there
// are also the globals __arity_table and __arity_len, with Options.Threads the
// function __thread_start.
//
// These names are reserved: a module that imports or exports one is refused.
//
// A side module gets a section coderunner.got (wasmbin.GOT) in place of its
// imports from GOT.mem and GOT.func.
//
// # Sources
//
// The legacy exception handling proposal,
// https://github.com/WebAssembly/exception-handling/blob/main/proposals/exception-handling/legacy/Exceptions.md,
// and CPython's Python/emscripten_trampoline.c for the trampoline.
//
// # Limits
//
// Tags carry nothing or one i32. try_table and typed references are refused.
// Custom sections other than dylink.0 are dropped, since code offsets change:
// Options.Places says how.
//
// # Testing
//
// Cases in testdata run on the compiler engine after rewriting, and in
// binaryen's translation to try_table on wazero's interpreter, whose own
// exception handling is right. FuzzModule feeds arbitrary bytes,
// TestRandomModules compares generated modules.
package rewrite

import (
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// Version changes whenever the output for the same input does. It belongs into
// the key of anything derived from the output.
const Version = "11"

// SideVersion is the Version of side modules, for changes that leave main modules
// as they are.
const SideVersion = Version + ".5"

// Module rewrites a module. The result is the same for the same input and
// options. A malformed or unsupported module is a *wasmbin.FormatError; other
// errors are about options that do not fit the module. The parts of info may
// alias in, which must not be changed.
func Module(in []byte, o Options) (out []byte, info *Info, err error) {
	r, err := newRewriter(in, o)
	if err != nil {
		return nil, nil, err
	}
	if err := r.scan(); err != nil {
		return nil, nil, err
	}
	if err := r.layout(); err != nil {
		return nil, nil, err
	}
	code, err := r.code()
	if err != nil {
		return nil, nil, err
	}
	out, err = r.module(code)
	if err != nil {
		return nil, nil, err
	}
	info = r.info()
	info.Stats, info.places = r.stats, r.places
	return out, info, nil
}

func newRewriter(in []byte, o Options) (*rewriter, error) {
	if len(in) > MaxInput {
		return nil, &wasmbin.FormatError{Section: "header", Msg: fmt.Sprintf("module of %d bytes, at most %d are supported", len(in), MaxInput)}
	}
	m, err := wasmbin.Parse(in)
	if err != nil {
		return nil, err
	}
	r := &rewriter{in: in, m: m, o: o, fuel: o.Fuel, types: map[string]uint32{}, inits: map[uint32]uint32{}}
	switch {
	case o.Fuel == 0:
		r.fuel = DefaultFuel
	case o.Fuel < 0:
		r.fuel = 0
	}
	if err := r.checkOptions(); err != nil {
		return nil, err
	}
	if err := r.checkNames(); err != nil {
		return nil, err
	}
	for i, t := range m.Types {
		k := string(wasmbin.AppendFuncType(nil, t))
		if _, ok := r.types[k]; !ok {
			r.types[k] = uint32(i)
		}
	}
	if r.o.Lean {
		if err := r.checkLean(); err != nil {
			return nil, err
		}
	}
	if err := r.findGOT(); err != nil {
		return nil, err
	}
	if r.o.Threads {
		if err := r.findThreads(); err != nil {
			return nil, fmt.Errorf("rewrite: threads: %w", err)
		}
	}
	return r, nil
}
