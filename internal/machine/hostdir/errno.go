package hostdir

import (
	"errors"
	"io/fs"
	"syscall"

	"coderunner/internal/machine/abi"
)

// nobody owns what is not the host's user's.
const nobody = 65534

// errnos are the guest's numbers for the host's.
var errnos = map[syscall.Errno]abi.Errno{
	syscall.EACCES: abi.EACCES, syscall.EPERM: abi.EPERM, syscall.ENOENT: abi.ENOENT,
	syscall.EEXIST: abi.EEXIST, syscall.ENOTDIR: abi.ENOTDIR, syscall.EISDIR: abi.EISDIR,
	syscall.ENOTEMPTY: abi.ENOTEMPTY, syscall.ENOSPC: abi.ENOSPC, syscall.EDQUOT: abi.EDQUOT,
	syscall.EROFS: abi.EROFS, syscall.ELOOP: abi.ELOOP, syscall.ENAMETOOLONG: abi.ENAMETOOLONG,
	syscall.EMFILE: abi.EMFILE, syscall.ENFILE: abi.ENFILE, syscall.EFBIG: abi.EFBIG,
	syscall.EINVAL: abi.EINVAL, syscall.EBUSY: abi.EBUSY, syscall.ETXTBSY: abi.ETXTBSY,
	syscall.EXDEV: abi.EXDEV, syscall.ENXIO: abi.ENXIO, syscall.EMLINK: abi.EMLINK,
	syscall.EOPNOTSUPP: abi.EOPNOTSUPP, syscall.EBADF: abi.EBADF, syscall.ENOMEM: abi.ENOMEM,
	syscall.ESTALE: abi.ESTALE,
}

// errno is what the guest is told of an error of package os; OK for nil.
func errno(err error) abi.Errno {
	var number syscall.Errno
	var own abi.Errno
	switch {
	case err == nil:
		return abi.OK
	case errors.As(err, &own):
		return own
	case errors.As(err, &number):
		if e, ok := errnos[number]; ok {
			return e
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return abi.ENOENT
	case errors.Is(err, fs.ErrExist):
		return abi.EEXIST
	case errors.Is(err, fs.ErrPermission):
		return abi.EACCES
	case errors.Is(err, fs.ErrClosed):
		return abi.EBADF
	}
	return abi.EIO
}
