//go:build !linux

package linmem

import "errors"

func (a *area) written(uint64) ([]Range, error) { return nil, errors.ErrUnsupported }

func (a *area) revert(Range) error { return errors.ErrUnsupported }
