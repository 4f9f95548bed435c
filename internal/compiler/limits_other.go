//go:build !unix

package compiler

import (
	"io"
	"time"
)

// limit leaves it to watch, and to the time that Compile waits.
func limit(int64, time.Duration) error { return nil }

func polled(stdin io.Reader) io.Reader { return stdin }
