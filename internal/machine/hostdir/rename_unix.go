//go:build unix

package hostdir

import (
	"golang.org/x/sys/unix"

	"coderunner/internal/machine/abi"
)

// rename moves a name from one open directory to another.
func (f *Dir) rename(from, to location, _, _ string) abi.Errno {
	return errno(withFD(from.dir, func(a int) error {
		return withFD(to.dir, func(b int) error {
			return unix.Renameat(a, from.base, b, to.base)
		})
	}))
}
