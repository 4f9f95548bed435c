//go:build !linux

package pyodide

import "time"

// threadTime is not supported here.
func threadTime() time.Duration { return 0 }
