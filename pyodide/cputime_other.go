//go:build !linux

package pyodide

import "time"

// threadTime is not to be had on this system.
func threadTime() time.Duration { return 0 }
