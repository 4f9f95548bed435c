package pyodide

import (
	"crypto/sha256"
	"sync"

	"coderunner/internal/recent"
)

// Runtime makes interpreters of one compiled module. Its methods are in the files
// of the stations that the package comment draws.
type Runtime struct {
	*compiled
	pool     instances
	analyses recent.Map[[sha256.Size]byte, *Analysis]
	base     *Snapshot // a booted interpreter; nil without a store
	close    sync.Once
}
