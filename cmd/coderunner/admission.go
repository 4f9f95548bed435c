package main

import (
	"runtime"

	"coderunner/internal/server"
)

// admitted is how many programs run at once when nobody says a number: as many
// as the cores can serve, and no more than the machine has memory for when each
// takes all that it may. The others wait for their turn. A quarter of the memory
// is left to everything else; a machine that does not tell how much it has (0)
// is taken to have enough.
func admitted(cores int, limit, memory int64) int {
	n := cores * server.ConcurrencyPerCore
	if memory > 0 {
		n = min(n, int(memory/4*3/limit))
	}
	return max(n, 1)
}

// admit settles the number of programs at once.
func (c *Config) admit() {
	if c.Concurrency == 0 {
		c.Concurrency = admitted(runtime.GOMAXPROCS(0), c.Limits.Memory, machineMemory())
	}
}
