//go:build !linux

package linmem

import (
	"errors"
	"os"
)

// UsePagemap does nothing: there is no such file.
func UsePagemap(f *os.File) { f.Close() }

func (a *area) written(uint64) ([]Range, error) { return nil, errors.ErrUnsupported }

func pageFaults() uint64 { return 0 }

func (a *area) smallPages(uint64) error { return errors.ErrUnsupported }

func (a *area) revert(Range) error { return errors.ErrUnsupported }
