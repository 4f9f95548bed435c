// Package layout holds the structs that system calls read and fill in guest
// memory, as Emscripten's libc and WASI lay them out for wasm32.
//
// It has no logic beyond encoding. Guest memory is little-endian, int and
// pointers are 32 bits, off_t, ino_t and time_t are 64 bits. What the structs
// mean, and their numbers, are in package abi. Functions write to the first
// bytes of a slice that has at least the struct's size.
//
// # Sources
//
// Emscripten 5.0.3: src/struct_info_generated.json (offsets and sizes),
// system/lib/libc/musl/include and arch/generic/bits; and what the pinned
// release's JavaScript glue reads and writes.
//
// # Testing
//
// Layouts are tested field by field against the offsets of
// struct_info_generated.json.
package layout

import "encoding/binary"

var le = binary.LittleEndian
