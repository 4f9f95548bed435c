package abi

import (
	"fmt"
	"io/fs"
)

// Errno is a system call's outcome: OK (zero) or one of Emscripten's errno
// numbers. A system call returns its negative.
//
// Errno implements error so that host code can wrap it, but an OK stored in an
// error is not nil: use Err at that boundary.
type Errno uint16

// Err is nil for OK and e otherwise.
func (e Errno) Err() error {
	if e == OK {
		return nil
	}
	return e
}

// Name is the errno's C name, such as "ENOENT", or "errno 999" for a number
// that has none.
func (e Errno) Name() string {
	if int(e) < len(errnos) && errnos[e].name != "" {
		return errnos[e].name
	}
	return fmt.Sprintf("errno %d", uint16(e))
}

// Error is the name and the guest's strerror text.
func (e Errno) Error() string {
	if int(e) < len(errnos) && errnos[e].text != "" {
		return e.Name() + ": " + errnos[e].text
	}
	return e.Name()
}

// Is makes errors.Is see the io/fs errors in an Errno, as it does for
// syscall.Errno.
func (e Errno) Is(target error) bool {
	switch target {
	case fs.ErrPermission:
		return e == EACCES || e == EPERM || e == EROFS
	case fs.ErrExist:
		return e == EEXIST || e == ENOTEMPTY
	case fs.ErrNotExist:
		return e == ENOENT
	case fs.ErrInvalid:
		return e == EINVAL
	case fs.ErrClosed:
		return e == EBADF
	}
	return false
}
