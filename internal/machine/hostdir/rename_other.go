//go:build !unix

package hostdir

import "coderunner/internal/machine/abi"

func (f *Dir) rename(_, _ location, old, new string) abi.Errno {
	return errno(f.root.Rename(old, new))
}
