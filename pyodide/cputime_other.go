//go:build !linux

package pyodide

import "time"

func threadID() int { return 1 }

// threadTime is not supported here.
func threadTime(int) time.Duration { return 0 }
