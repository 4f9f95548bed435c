package abi

// The errno numbers of Emscripten that the host uses, which are WASI's and not
// Linux's. errnos.txt has all.
const (
	OK              Errno = 0
	EACCES          Errno = 2
	EAFNOSUPPORT    Errno = 5
	EAGAIN          Errno = 6
	EBADF           Errno = 8
	EBUSY           Errno = 10
	EDQUOT          Errno = 19
	EEXIST          Errno = 20
	EFAULT          Errno = 21
	EFBIG           Errno = 22
	EINTR           Errno = 27
	EINVAL          Errno = 28
	EIO             Errno = 29
	EISDIR          Errno = 31
	ELOOP           Errno = 32
	EMFILE          Errno = 33
	EMLINK          Errno = 34
	ENAMETOOLONG    Errno = 37
	ENFILE          Errno = 41
	ENODEV          Errno = 43
	ENOENT          Errno = 44
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
	ERANGE          Errno = 68
	EROFS           Errno = 69
	ESPIPE          Errno = 70
	ESTALE          Errno = 72
	ETXTBSY         Errno = 74
	EXDEV           Errno = 75
	ESOCKTNOSUPPORT Errno = 137
	EOPNOTSUPP      Errno = 138
)
