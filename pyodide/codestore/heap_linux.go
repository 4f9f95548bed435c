package codestore

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// growHeap maps the next part of this process's heap in huge pages. To load CPython's module
// allocates 9 MB, for which Go would fault 2,200 pages one by one. Go itself asks for no huge
// pages, and grows its heap by 4 MiB at a time; but it takes large stacks from the heap, and
// gives them back, untouched, when their goroutine ends.
var growHeap = sync.OnceFunc(func() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		needStack(nil)
	}()
	<-done
})

// reserve is half of the heap that is mapped: a function that passes it on has two in its frame.
type reserve [7 << 20]byte

// needStack needs a stack of 16 MiB, since it could call take, and advises what is around it.
//
//go:noinline
func needStack(r *reserve) byte {
	var local byte // somewhere in the stack
	if r != nil {
		return take(*r) + local
	}
	const size = 2 * unsafe.Sizeof(*r)
	begin := uintptr(unsafe.Pointer(&local))&^(hugePage-1) - size
	_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, begin, 2*size, unix.MADV_HUGEPAGE) // what is not mapped is passed over
	return 0
}

//go:noinline
func take(r reserve) byte { return r[0] }
