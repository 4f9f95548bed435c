// Package pyodide runs CPython, as Pyodide compiles it to WebAssembly, on
// wazero: inside a Go program, with no JavaScript engine and no C.
//
//	rt, err := pyodide.Open(ctx, pyodide.Config{Module: …, Stdlib: …})
//	in, err := rt.New(ctx, pyodide.Options{Stdout: os.Stdout})
//	res, err := in.Run(ctx, pyodide.Program{Code: "1 + 1"})
//	in.Close()
//
// A [Runtime] is the compiled module; an [Interp] is one interpreter with
// memory, files and descriptors of its own. It is a small operating system for
// one program: it opens no host file and no socket by itself, and whatever it
// may touch is handed to it in [Options].
//
// # Structure
//
//	pyodide.asm.wasm ─ rewrite ─> lean module ─┬─ wazero ─> machine code ─┬─ boot ─> Interp ─ Run ─> Result
//	                                         └─ stub module ──────────────┘
//
// With a store, a start takes the machine code, the stub module and a snapshot
// in place of the boot from there, and looks at nothing else.
//
// Packages below this one know nothing of each other, but for the leaves abi,
// hostfn, memfs and wasmbin; they are joined here. RATIONALE.md says why things
// are as they are. guest/ holds the Python half.
//
// # Sources
//
// Pyodide 314.0.7 (CPython 3.14.2, Emscripten 5.0.3): the order of the boot is
// that of its pyodide.asm.mjs, the call trampoline that of CPython's
// Python/emscripten_trampoline.c.
//
// # Locking
//
// A Runtime is safe for concurrent use. An Interp runs one program at a time;
// Mount and WriteFile may be called while none runs, or from within a call of
// the program (Options.Calls, Program.Imports). Close may be called at any
// time and waits for the run in progress.
//
// # Limits
//
// No threads, subprocesses or sockets, as there are none in Pyodide. No
// JavaScript: the modules js and pyodide_js raise ImportError.
//
// # Testing
//
// Tests boot the real thing: the npm package is fetched once (package cache)
// and kept. With -short only what needs no interpreter is tested.
package pyodide
