// Package dylink is the dynamic linker: it loads shared libraries (side
// modules, the .so files of wheels) into the memory and the table of one
// interpreter's main module, and answers dlopen and dlsym.
//
// It knows no file system, no cache and no Python. [Config] says where
// libraries come from; package pyodide joins it to the rest, and rewrites and
// compiles what is loaded.
//
// # What a library is
//
// A module with a section dylink.0, which tells how much memory and how many
// table slots it wants and which libraries it needs. It imports
//
//	env.memory, env.__indirect_function_table    the main module's
//	env.__memory_base, env.__table_base          where its parts of them begin
//	env.<function>                               by name, from anybody
//
// and has a section coderunner.got, which lists the addresses of symbols that it
// uses and where in its memory they belong: package rewrite makes it of imports
// of globals from GOT.mem and GOT.func.
//
// It exports what it defines: functions, and the addresses of data as
// constants relative to its memory.
//
// # How names are resolved
//
// A function that a library imports is looked for among the host's functions
// that are meant for libraries, in the main module, in the libraries loaded
// with RTLD_GLOBAL, in those loaded by the same dlopen, and last in the library
// itself: C++ libraries import their own weak functions. GOT entries are one
// table by name over all libraries, whatever their scope: the main module's
// definition, else that of the library loaded first. So the address of a
// function is the same everywhere. What is found nowhere fails the load, all
// names in one message, unless it is weak.
//
// # How a load happens
//
// First everything is planned: the library and those it needs are read,
// compiled and resolved, and nothing of the interpreter is touched. Then
// memory and slots are taken and the modules instantiated; whatever fails gives
// all of it back. Then relocations and constructors run. If a constructor
// leaves by an exception, the names of its library are withdrawn but its
// memory and slots stay: something may point to them.
//
// Libraries stay until the interpreter ends: dlclose only counts, in libc.
//
// # Sources
//
// Emscripten 5.0.3, src/lib/libdylink.js and system/lib/libc/dynlink.c, and
// "WebAssembly Dynamic Linking",
// https://github.com/WebAssembly/tool-conventions/blob/main/DynamicLinking.md.
//
// # Locking
//
// A [Linker] belongs to the goroutine that runs its interpreter. [Library],
// [Image] and [Main] do not change and are shared.
//
// # Limits
//
// Inline JavaScript (EM_JS, EM_ASM) is refused, and so are libraries built
// with threads. Thread-local variables are what the toolchain makes of them
// without threads: data. A dlopen from within a module's start function fails.
//
// # Testing
//
// Tests load modules made by wasmbin.Builder into a small main module; those of
// package pyodide load such modules into CPython. FuzzImage feeds arbitrary
// bytes.
package dylink
