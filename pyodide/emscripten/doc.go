// Package emscripten is the operating system that CPython, compiled by
// Emscripten, expects of its host: system calls, clocks, randomness, the
// environment, the loader's entry points.
//
// It reaches nothing of the machine by itself. Files are in a [memfs.FS],
// standard input and output are the reader and the writers of [Config], time
// is [Config.Now]. JavaScript is not there. Other processes are started by the
// calls of package pyodide, which give them a [Process] of their own on the same
// files.
//
// A [Process] is the state of one interpreter. [Rows] are the functions, the
// same for all: they find the process in the context of the call, where
// [NewContext] put it.
//
// # Layers
//
// Numbers are in package abi, structs in guest memory in package layout. The
// functions here decode their arguments, call something that knows no guest memory, and encode the result.
// __syscall functions answer with a negative errno, those of WASI with a
// positive one; a bad address is EFAULT in both.
//
// # Ends
//
// A function that ends the program panics with one of [*Exit], [*Abort],
// [*OutputError] and [*Stopped], which unwinds the guest. All are errors:
// wazero hands them to the caller of the guest's function, who finds them with
// [errors.As]. After any of them the instance must not be called again.
//
// # Sources
//
// Emscripten 5.0.3: src/lib/lib*.js and system/lib/libc; the JavaScript that
// the pinned release of Pyodide ships (pyodide.asm.mjs) where it differs. Each row names its
// file.
//
// # Locking
//
// A process belongs to the goroutine that runs its guest. Only its [Timers] and
// [Process.Interrupt] may be used from others.
//
// # Limits
//
// The notes of [Rows] say what is missing. There is one user, whose
// id is 0 and who has no privileges (see memfs). Advisory locks always succeed,
// also while another process has one.
//
// # Testing
//
// The functions are called on memory of the test's own, filled with question
// marks so that a stray write shows, and with hostile arguments by a fuzz test
// that knows no function in particular.
package emscripten
