package pyodide

import (
	"os"

	"golang.org/x/sys/unix"
)

// zero makes part of a linear memory zero. The memory is anonymous and begins
// at a page: whole pages are given back, so that those which nobody has written
// to stay untouched.
func zero(memory []byte, from, to int) {
	page := os.Getpagesize()
	first, last := (from+page-1)/page*page, to/page*page
	if first >= last || unix.Madvise(memory[first:last], unix.MADV_DONTNEED) != nil {
		clear(memory[from:to])
		return
	}
	clear(memory[from:first])
	clear(memory[last:to])
}
