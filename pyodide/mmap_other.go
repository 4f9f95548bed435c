//go:build !unix

package pyodide

import (
	"io"
	"os"
)

// mapOpen reads size bytes of f.
func mapOpen(f *os.File, size int64) ([]byte, func() error, error) {
	b := make([]byte, size)
	_, err := io.ReadFull(f, b)
	return b, func() error { return nil }, err
}
