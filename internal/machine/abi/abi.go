// Package abi holds the numbers and structs of the machine's system calls: errno,
// open flags, mode bits, poll events, socket options, stat.
//
// It has no logic: what a call means is decided by the packages that import this
// one, and how a struct lies in a program's memory by whoever runs the program.
//
// # Sources
//
// The numbers are musl's (arch/generic/bits), those of errno WASI's: C libraries
// that programs bring along have them, so that nothing is translated. The names
// are from musl's src/errno/__strerror.h.
package abi
