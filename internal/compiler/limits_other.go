//go:build !unix

package compiler

import "time"

// limit leaves it to watch, and to the time that Compile waits.
func limit(int64, time.Duration) error { return nil }
