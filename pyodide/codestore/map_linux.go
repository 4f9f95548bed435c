package codestore

import (
	"errors"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/unix"
)

// packs reports whether machine code is kept in packed files.
const packs = true

// mapping is the mapped code of a packed file.
type mapping struct {
	*packed
	code    []byte
	checked chan error // what check returns, which reads all of the code beside what wazero does
}

// mapCode maps the code of a packed file.
func mapCode(f *os.File, p *packed) (*mapping, error) {
	code, err := unix.Mmap(int(f.Fd()), p.begin, p.size, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map machine code: %w", err) // such as in a file system without programs
	}
	_ = unix.Madvise(code, unix.MADV_HUGEPAGE) // what is not in memory is read in large folios
	m := &mapping{p, code, make(chan error, 1)}
	go func() { m.checked <- p.check(code) }()
	return m, nil
}

// unmap undoes mapCode. The code must not be in use, and checked not read.
func (m *mapping) unmap() error {
	if m == nil {
		return nil
	}
	return errors.Join(<-m.checked, unix.Munmap(m.code))
}

// adoptBy gives the code to a module that wazero has loaded without any. The error is
// errNotAdopted if wazero is another one.
func (m *mapping) adoptBy(module wazero.CompiledModule) error {
	if m == nil {
		return nil
	}
	err := <-m.checked
	if err == nil {
		var adopted bool
		if adopted, err = adopt(module, m.offsets(), m.code); adopted {
			return nil
		}
	}
	return errors.Join(err, unix.Munmap(m.code))
}
