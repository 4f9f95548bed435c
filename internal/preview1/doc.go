// Package preview1 implements WASI preview 1 on the machine: a module's imports are system
// calls of one process of internal/machine, on its files, its clocks and its signals.
// wazero's own implementation, which uses those of the host, is not used. Modules of
// runners/wasi have all of it; CPython, whose functions are mostly Emscripten's, has
// vector.go's.
//
// A function of the table decodes its arguments, calls the machine and encodes the result;
// those whose names begin with fd, path or poll are in the file of that name, the others in
// host.go. Every address and every length is checked: what is outside of the module's memory
// is EFAULT.
//
// # What a module finds
//
// Descriptors 0, 1 and 2 are the process's. Then follow directories that are open from the
// start: "/", each directory in it by its path, and the working directory as ".", which a
// C library takes for paths that begin with none of the others.
//
// # Sources
//
// https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md; the
// machine's error numbers are WASI's already.
//
// # Locking
//
// A Process belongs to the goroutine that runs its module.
//
// # Limits
//
// Rights are not kept: a descriptor may do what its file may. There is no way to open a
// socket in preview 1; sock_recv and sock_send work on what the process was given. A
// symbolic link may lead out of the directory that a path is relative to: all directories
// are open to the module anyway.
//
// # Testing
//
// Tables of calls with memory masked with "?", and FuzzCalls, which calls everything with
// anything.
package preview1
