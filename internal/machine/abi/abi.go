// Package abi holds the numbers and struct layouts that Emscripten's libc and
// its host agree on for wasm32: errno, open flags, mode bits, poll events, and
// the structs that system calls fill in guest memory.
//
// It has no logic beyond encoding: what a call means is decided by the packages
// that import this one. Guest memory is little-endian, int and pointers are 32
// bits, off_t, ino_t and time_t are 64 bits.
//
// # Sources
//
// Emscripten 5.0.3: src/struct_info_generated.json (offsets and sizes),
// system/lib/libc/musl/include and arch/generic/bits (numbers),
// system/lib/libc/musl/src/errno/__strerror.h (names); and what the pinned
// release's JavaScript glue reads and writes.
//
// # Testing
//
// Layouts are tested field by field against the offsets of
// struct_info_generated.json.
package abi

import "encoding/binary"

var le = binary.LittleEndian
