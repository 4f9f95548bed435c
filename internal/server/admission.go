package server

import "runtime"

// concurrencyPerCore times the cores is how many programs run at once at most,
// unless somebody says a number.
const concurrencyPerCore = 4

// Admitted is how many programs run at once when nobody says a number: as many
// as the cores can serve, and no more than there is memory for, in bytes, when
// each takes all of its limit. The others wait for their turn. A quarter of the
// memory is left to everything else; where it is not known (0), it is taken to
// be enough.
func Admitted(limit, memory int64) int {
	return admitted(runtime.GOMAXPROCS(0), limit, memory)
}

func admitted(cores int, limit, memory int64) int {
	n := cores * concurrencyPerCore
	if memory > 0 {
		n = min(n, int(memory/4*3/limit))
	}
	return max(n, 1)
}
