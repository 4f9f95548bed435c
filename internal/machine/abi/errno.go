package abi

import (
	"cmp"
	_ "embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Errno is a system call's outcome: OK (zero) or an errno number.
//
// Errno implements error so that host code can wrap it, but an OK stored in an
// error is not nil: use Err at that boundary.
type Errno uint16

// The errno numbers that the machine itself uses, which are WASI's and not
// Linux's. errnos.txt has all, with Linux's second.
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

// errnos.txt has a line for each number: the number, Linux's, its C name, and
// glibc's text. Those that the C library fails with are first.
//
//go:embed errnos.txt
var errnoLines string

// errnoLine is a line of errnos.txt.
type errnoLine struct {
	linux      int
	name, text string
}

// errnos has the numbers of errnos.txt in order, and its lines by number.
var errnos = sync.OnceValues(func() ([]Errno, map[Errno]errnoLine) {
	var order []Errno
	table := map[Errno]errnoLine{}
	for line := range strings.Lines(errnoLines) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		n, err := strconv.ParseUint(f[0], 10, 16)
		linux, err2 := strconv.Atoi(f[1])
		if err != nil || err2 != nil {
			panic(line) // it is embedded
		}
		order = append(order, Errno(n))
		table[Errno(n)] = errnoLine{linux, f[2], f[3]}
	}
	return order, table
})

func (e Errno) line() (l errnoLine, ok bool) {
	_, table := errnos()
	l, ok = table[e]
	return l, ok
}

// Errnos returns all numbers, those that the C library fails with first.
func Errnos() []Errno {
	order, _ := errnos()
	return slices.Clone(order)
}

// LinuxNumbers returns Linux's number for each errno, in order. EFBIG has one of
// its own: a program that takes Linux's, 27, for EINTR, which is 27 here, would
// write again for ever.
func LinuxNumbers() [][2]int32 {
	var pairs [][2]int32
	for _, e := range slices.Sorted(slices.Values(Errnos())) {
		pairs = append(pairs, [2]int32{int32(e), int32(e.Linux())})
	}
	return pairs
}

// Linux returns Linux's number.
func (e Errno) Linux() int {
	if l, ok := e.line(); ok {
		return l.linux
	}
	return int(e)
}

// MarshalJSON writes Linux's number.
func (e Errno) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(e.Linux()), 10), nil
}

// Name is the errno's C name, such as "ENOENT", or "errno 999" for a number
// that has none.
func (e Errno) Name() string {
	l, _ := e.line()
	return cmp.Or(l.name, fmt.Sprintf("errno %d", uint16(e)))
}

// Text is what strerror(3) returns, or "".
func (e Errno) Text() string {
	l, _ := e.line()
	return l.text
}

// Error is the name and the text.
func (e Errno) Error() string {
	if text := e.Text(); text != "" {
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
