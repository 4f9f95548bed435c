//go:build !linux

package main

import (
	"io"
	"os"
)

// peek returns f: only Linux can look at a pipe.
func peek(f *os.File) io.Reader { return f }

// terminalKeys returns f: only Linux's terminals have their modes changed.
func terminalKeys(f *os.File) io.Reader { return f }
