package pyodide

import (
	"errors"
	"fmt"
	"os"

	"coderunner/pyodide/codestore"
)

// mapFile maps a file read-only until unmap is called.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	return mapOpen(f, info.Size())
}

// OpenStub maps a stub module. The caller calls unmap when nothing uses it any
// more.
func OpenStub(file string) (s *codestore.Stub, unmap func() error, err error) {
	data, unmap, err := mapFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read stub module: %w", err)
	}
	if s, err = codestore.ReadStub(data); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read %s: %w", file, err), unmap())
	}
	return s, unmap, nil
}
