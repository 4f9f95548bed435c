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
//	pyodide.asm.wasm ─ rewrite ─> lean module ─┬─ wazero ─> machine code ─┐
//	                                           └─ stub module ────────────┤
//	                                                                      ▼
//	Interp ─ Run ─> Result          Analyze (parses only)             instance ─ boot ─> Snapshot
//	   ▲                               ▲                                                   │
//	   └──────────── lease ────────────┴── pool <── restore ── a new instance <────────────┤
//	                                    ▲                                                  │
//	                                    └── reset ── the instance of a closed Interp <─────┘
//
// With a store, a start takes the machine code, the stub module and the snapshot
// from there, and looks at nothing else. Files are named after their station:
// boot, snapshot, restore, pool, reset, analyze, interp (Run).
//
// Packages below this one know nothing of each other, but for abi, hostfn, memfs,
// netstack and wasmbin; they are joined here. RATIONALE.md says why things
// are as they are. guest/ holds the Python half.
//
// # Words
//
//	analyze    parse a program for its imports, without running it
//	baton      what the one thread has that runs; the others wait for it
//	boot       start CPython in a new instance
//	budget     how long a program's clock stands still while it waits for the network
//	call       what a program asks the host for, through a device file
//	guest      what runs in WebAssembly; its half of the work is in guest/
//	instance   module, memory, globals and tables, without files and descriptors
//	lean       of the main module: without data, which the host writes
//	lease      take an instance out of the pool for one interpreter
//	linking    what an instance has of shared libraries and functions of C
//	own        of a library: written by the program, compiled for it alone
//	park       stop a program in the middle of a call, to go on there later
//	preload    import modules before a snapshot is taken
//	report     what the guest's half says of a run: a claim, no more
//	reset      make a used instance what its snapshot is
//	restore    make a new instance of a snapshot
//	snapshot   an interpreter in a file
//	stub       a module without code, for which wazero finds machine code
//	suspend    take the snapshot of an interpreter that has run programs
//	trap       the end of a guest that did what WebAssembly forbids
//	warm up    run what all programs run, before a snapshot is taken
//
// # Sources
//
// The pinned release of Pyodide (internal/versions): the order of the boot is
// that of its pyodide.asm.mjs, the call trampoline that of CPython's
// Python/emscripten_trampoline.c.
//
// # Locking
//
// A Runtime is safe for concurrent use. An Interp runs one program at a time;
// Mount and WriteFile may be called while none runs, or from within a call of
// the program (Options.Calls). Close may be called at any
// time and waits for the run in progress.
//
// # Limits
//
// Threads take turns on one processor. Other processes are the host's
// (Options.Process); a process is never a copy. No
// JavaScript: the modules js and pyodide_js raise ImportError.
//
// # Testing
//
// Tests boot the real thing: the npm package is fetched once (package cache)
// and kept. With -short only what needs no interpreter is tested.
package pyodide
