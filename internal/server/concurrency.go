package server

import (
	"runtime"

	"coderunner/internal/sysmem"
)

// concurrencyPerCore times the cores is how many programs run at once at most
// by default.
const concurrencyPerCore = 4

// DefaultConcurrency returns how many programs, each with a limit of memory in
// bytes, run at once unless somebody sets a number: as many as the cores can
// serve, and no more than there is memory for when each takes all of its limit.
// The others wait for their turn. A quarter of the memory is left to everything
// else; where it is not known, it is taken to be enough.
func DefaultConcurrency(limit int64) int {
	return defaultConcurrency(runtime.GOMAXPROCS(0), limit, sysmem.Total())
}

func defaultConcurrency(cores int, limit, memory int64) int {
	n := cores * concurrencyPerCore
	if memory > 0 {
		n = min(n, int(memory/4*3/limit))
	}
	return max(n, 1)
}
