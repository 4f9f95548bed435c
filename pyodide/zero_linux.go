package pyodide

import (
	"os"

	"golang.org/x/sys/unix"
)

// zero clears part of a linear memory, which is anonymous and page-aligned. Whole
// pages are freed, so that untouched ones stay untouched.
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
