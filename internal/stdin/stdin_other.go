//go:build !linux

package stdin

import (
	"io"
	"os"
)

// Peek returns f: only Linux can look at a pipe.
func Peek(f *os.File) io.Reader { return f }

// Keys returns f: only Linux's terminals have their modes changed.
func Keys(f *os.File) io.Reader { return f }
