//go:build unix

package pyodide

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mapOpen maps size bytes of f. Files in the store are never changed in place,
// so the mapping stays good.
func mapOpen(f *os.File, size int64) ([]byte, func() error, error) {
	if size <= 0 || int64(int(size)) != size {
		return nil, nil, fmt.Errorf("map %s: %d bytes", f.Name(), size)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return b, func() error { return unix.Munmap(b) }, nil
}
