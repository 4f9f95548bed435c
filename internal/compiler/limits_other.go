//go:build !unix

package compiler

import (
	"os"
	"time"
)

// limit leaves it to watch, and to the time that Compile waits.
func limit(int64, time.Duration) error { return nil }

// peak is not known here.
func peak(*os.ProcessState) int64 { return 0 }
