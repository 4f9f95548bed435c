package abi

import (
	"cmp"
	_ "embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// Errno is a system call's outcome: OK (zero) or one of Emscripten's errno
// numbers. A system call returns its negative.
//
// Errno implements error so that host code can wrap it, but an OK stored in an
// error is not nil: use Err at that boundary.
type Errno uint16

// The errno numbers of Emscripten that the host uses, which are WASI's and not
// Linux's. errnos.txt has all.
const (
	OK              Errno = 0
	EACCES          Errno = 2
	EADDRINUSE      Errno = 3
	EADDRNOTAVAIL   Errno = 4
	EAFNOSUPPORT    Errno = 5
	EAGAIN          Errno = 6
	EALREADY        Errno = 7
	EBADF           Errno = 8
	EBUSY           Errno = 10
	ECHILD          Errno = 12
	ECONNABORTED    Errno = 13
	ECONNREFUSED    Errno = 14
	ECONNRESET      Errno = 15
	EDESTADDRREQ    Errno = 17
	EDQUOT          Errno = 19
	EEXIST          Errno = 20
	EFAULT          Errno = 21
	EFBIG           Errno = 22
	EHOSTUNREACH    Errno = 23
	EINPROGRESS     Errno = 26
	EINTR           Errno = 27
	EINVAL          Errno = 28
	EIO             Errno = 29
	EISCONN         Errno = 30
	EISDIR          Errno = 31
	ELOOP           Errno = 32
	EMFILE          Errno = 33
	EMLINK          Errno = 34
	EMSGSIZE        Errno = 35
	ENAMETOOLONG    Errno = 37
	ENETUNREACH     Errno = 40
	ENFILE          Errno = 41
	ENOBUFS         Errno = 42
	ENODEV          Errno = 43
	ENOENT          Errno = 44
	ENOEXEC         Errno = 45
	ENOMEM          Errno = 48
	ENOPROTOOPT     Errno = 50
	ENOSPC          Errno = 51
	ENOSYS          Errno = 52
	ENOTCONN        Errno = 53
	ENOTDIR         Errno = 54
	ENOTEMPTY       Errno = 55
	ENOTSOCK        Errno = 57
	ENOTTY          Errno = 59
	ENXIO           Errno = 60
	EPERM           Errno = 63
	EPIPE           Errno = 64
	EPROTONOSUPPORT Errno = 66
	EPROTOTYPE      Errno = 67
	ERANGE          Errno = 68
	EROFS           Errno = 69
	ESPIPE          Errno = 70
	ESRCH           Errno = 71
	ESTALE          Errno = 72
	ETIMEDOUT       Errno = 73
	ETXTBSY         Errno = 74
	EXDEV           Errno = 75
	ESOCKTNOSUPPORT Errno = 137
	EOPNOTSUPP      Errno = 138
)

// Err is nil for OK and e otherwise.
func (e Errno) Err() error {
	if e == OK {
		return nil
	}
	return e
}

// errnos.txt has a line for each number: the number, its C name, and the text that
// the guest's strerror prints.
//
//go:embed errnos.txt
var errnoLines string

// errnoTexts has the names and texts of errnos.txt by number.
var errnoTexts = sync.OnceValue(func() map[Errno][2]string {
	texts := map[Errno][2]string{}
	for line := range strings.Lines(errnoLines) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, text, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			panic(err) // it is embedded
		}
		texts[Errno(n)] = [2]string{name, text}
	}
	return texts
})

// Name is the errno's C name, such as "ENOENT", or "errno 999" for a number
// that has none.
func (e Errno) Name() string {
	return cmp.Or(errnoTexts()[e][0], fmt.Sprintf("errno %d", uint16(e)))
}

// Error is the name and the guest's strerror text.
func (e Errno) Error() string {
	if text := errnoTexts()[e][1]; text != "" {
		return e.Name() + ": " + text
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
