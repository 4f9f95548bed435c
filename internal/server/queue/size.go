package queue

import (
	"runtime"

	"coderunner/internal/sysmem"
)

// placesPerCore times the cores is how many programs run at once at most
// by default.
const placesPerCore = 4

// DefaultPlaces returns how many programs, each with a limit of memory in
// bytes, run at once unless somebody sets a number: as many as the cores can
// serve, and no more than there is memory for when each takes all of its limit.
// The others wait for their turn. A quarter of the memory is left to everything
// else; where it is not known, it is taken to be enough.
func DefaultPlaces(limit int64) int {
	return defaultPlaces(runtime.GOMAXPROCS(0), limit, sysmem.Total())
}

func defaultPlaces(cores int, limit, memory int64) int {
	n := cores * placesPerCore
	if memory > 0 {
		n = min(n, int(memory/4*3/limit))
	}
	return max(n, 1)
}
