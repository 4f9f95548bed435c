package pyodide

import "errors"

// The host's limits on compiling shared libraries. Package internal/compiler has
// those of the process that compiles one.
const (
	// maxBody bounds each function of a library, in bytes.
	maxBody = 4 << 20

	// smallLibrary is the size, in bytes, up to which a library that the program has
	// written is compiled in its own process: that takes at most about a hundred
	// megabytes, whatever is in it.
	smallLibrary = 4 << 10

	// ownBudget is the memory, in bytes, for compiling a library that the program
	// has written itself.
	ownBudget = 512 << 20

	// Bounds on the libraries that one program has written itself, in total.
	maxOwn      = 8 << 20 // bytes
	maxOwnTypes = 20_000  // function types, parameters and results

	maxOwnBody   = 256 << 10 // bytes of each function of such a library
	ownCompilers = 2         // programs whose libraries are compiled at once
)

// libraryBudget returns the memory, in bytes, for compiling a prepared library of
// the given size. The largest known, mypy's of 22 MB, takes 1.4 GB. Small ones share a process.
func libraryBudget(size int) int64 {
	if size < 256<<10 {
		return 0
	}
	return min(512<<20+128*int64(size), 2<<30)
}

// ErrBudget is the error of a library whose compilation exceeds its memory or
// time.
var ErrBudget = errors.New("compiling it takes too much")
