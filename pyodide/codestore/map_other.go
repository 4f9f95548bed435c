//go:build !linux

package codestore

import (
	"errors"
	"os"

	"github.com/tetratelabs/wazero"
)

// packs reports whether machine code is kept in packed files: elsewhere than on Linux, files
// may have to be signed to be run.
const packs = false

// mapping is the mapped code of a packed file.
type mapping struct{}

func mapCode(*os.File, *packed) (*mapping, error) { return nil, errors.ErrUnsupported }

func (*mapping) unmap() error { return nil }

func (*mapping) adoptBy(wazero.CompiledModule) error { return nil }
