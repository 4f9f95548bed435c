package abi

// The errno numbers of Emscripten, which are WASI's and not Linux's, with the
// texts that the guest's strerror prints.
const (
	OK Errno = 0 // success

	E2BIG           Errno = 1
	EACCES          Errno = 2
	EADDRINUSE      Errno = 3
	EADDRNOTAVAIL   Errno = 4
	EAFNOSUPPORT    Errno = 5
	EAGAIN          Errno = 6
	EALREADY        Errno = 7
	EBADF           Errno = 8
	EBADMSG         Errno = 9
	EBUSY           Errno = 10
	ECANCELED       Errno = 11
	ECHILD          Errno = 12
	ECONNABORTED    Errno = 13
	ECONNREFUSED    Errno = 14
	ECONNRESET      Errno = 15
	EDEADLK         Errno = 16
	EDESTADDRREQ    Errno = 17
	EDOM            Errno = 18
	EDQUOT          Errno = 19
	EEXIST          Errno = 20
	EFAULT          Errno = 21
	EFBIG           Errno = 22
	EHOSTUNREACH    Errno = 23
	EIDRM           Errno = 24
	EILSEQ          Errno = 25
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
	EMULTIHOP       Errno = 36
	ENAMETOOLONG    Errno = 37
	ENETDOWN        Errno = 38
	ENETRESET       Errno = 39
	ENETUNREACH     Errno = 40
	ENFILE          Errno = 41
	ENOBUFS         Errno = 42
	ENODEV          Errno = 43
	ENOENT          Errno = 44
	ENOEXEC         Errno = 45
	ENOLCK          Errno = 46
	ENOLINK         Errno = 47
	ENOMEM          Errno = 48
	ENOMSG          Errno = 49
	ENOPROTOOPT     Errno = 50
	ENOSPC          Errno = 51
	ENOSYS          Errno = 52
	ENOTCONN        Errno = 53
	ENOTDIR         Errno = 54
	ENOTEMPTY       Errno = 55
	ENOTRECOVERABLE Errno = 56
	ENOTSOCK        Errno = 57
	ENOTTY          Errno = 59
	ENXIO           Errno = 60
	EOVERFLOW       Errno = 61
	EOWNERDEAD      Errno = 62
	EPERM           Errno = 63
	EPIPE           Errno = 64
	EPROTO          Errno = 65
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
	ENOSTR          Errno = 100
	ENOTBLK         Errno = 105
	ENODATA         Errno = 116
	ETIME           Errno = 117
	ENOSR           Errno = 118
	EBADFD          Errno = 127
	ESOCKTNOSUPPORT Errno = 137
	EOPNOTSUPP      Errno = 138
	EPFNOSUPPORT    Errno = 139
	ESHUTDOWN       Errno = 140
	EHOSTDOWN       Errno = 142
	ENOMEDIUM       Errno = 148

	EWOULDBLOCK = EAGAIN
	EDEADLOCK   = EDEADLK
	ENOTSUP     = EOPNOTSUPP
)

// errnos is indexed by number; a number without a name has an empty row.
var errnos = [...]struct{ name, text string }{
	OK:              {"OK", "No error information"},
	E2BIG:           {"E2BIG", "Argument list too long"},
	EACCES:          {"EACCES", "Permission denied"},
	EADDRINUSE:      {"EADDRINUSE", "Address in use"},
	EADDRNOTAVAIL:   {"EADDRNOTAVAIL", "Address not available"},
	EAFNOSUPPORT:    {"EAFNOSUPPORT", "Address family not supported by protocol"},
	EAGAIN:          {"EAGAIN", "Resource temporarily unavailable"},
	EALREADY:        {"EALREADY", "Operation already in progress"},
	EBADF:           {"EBADF", "Bad file descriptor"},
	EBADMSG:         {"EBADMSG", "Bad message"},
	EBUSY:           {"EBUSY", "Resource busy"},
	ECANCELED:       {"ECANCELED", "Operation canceled"},
	ECHILD:          {"ECHILD", "No child process"},
	ECONNABORTED:    {"ECONNABORTED", "Connection aborted"},
	ECONNREFUSED:    {"ECONNREFUSED", "Connection refused"},
	ECONNRESET:      {"ECONNRESET", "Connection reset by peer"},
	EDEADLK:         {"EDEADLK", "Resource deadlock would occur"},
	EDESTADDRREQ:    {"EDESTADDRREQ", "Destination address required"},
	EDOM:            {"EDOM", "Domain error"},
	EDQUOT:          {"EDQUOT", "Quota exceeded"},
	EEXIST:          {"EEXIST", "File exists"},
	EFAULT:          {"EFAULT", "Bad address"},
	EFBIG:           {"EFBIG", "File too large"},
	EHOSTUNREACH:    {"EHOSTUNREACH", "Host is unreachable"},
	EIDRM:           {"EIDRM", "Identifier removed"},
	EILSEQ:          {"EILSEQ", "Illegal byte sequence"},
	EINPROGRESS:     {"EINPROGRESS", "Operation in progress"},
	EINTR:           {"EINTR", "Interrupted system call"},
	EINVAL:          {"EINVAL", "Invalid argument"},
	EIO:             {"EIO", "I/O error"},
	EISCONN:         {"EISCONN", "Socket is connected"},
	EISDIR:          {"EISDIR", "Is a directory"},
	ELOOP:           {"ELOOP", "Symbolic link loop"},
	EMFILE:          {"EMFILE", "No file descriptors available"},
	EMLINK:          {"EMLINK", "Too many links"},
	EMSGSIZE:        {"EMSGSIZE", "Message too large"},
	EMULTIHOP:       {"EMULTIHOP", "Multihop attempted"},
	ENAMETOOLONG:    {"ENAMETOOLONG", "Filename too long"},
	ENETDOWN:        {"ENETDOWN", "Network is down"},
	ENETRESET:       {"ENETRESET", "Connection reset by network"},
	ENETUNREACH:     {"ENETUNREACH", "Network unreachable"},
	ENFILE:          {"ENFILE", "Too many open files in system"},
	ENOBUFS:         {"ENOBUFS", "No buffer space available"},
	ENODEV:          {"ENODEV", "No such device"},
	ENOENT:          {"ENOENT", "No such file or directory"},
	ENOEXEC:         {"ENOEXEC", "Exec format error"},
	ENOLCK:          {"ENOLCK", "No locks available"},
	ENOLINK:         {"ENOLINK", "Link has been severed"},
	ENOMEM:          {"ENOMEM", "Out of memory"},
	ENOMSG:          {"ENOMSG", "No message of desired type"},
	ENOPROTOOPT:     {"ENOPROTOOPT", "Protocol not available"},
	ENOSPC:          {"ENOSPC", "No space left on device"},
	ENOSYS:          {"ENOSYS", "Function not implemented"},
	ENOTCONN:        {"ENOTCONN", "Socket not connected"},
	ENOTDIR:         {"ENOTDIR", "Not a directory"},
	ENOTEMPTY:       {"ENOTEMPTY", "Directory not empty"},
	ENOTRECOVERABLE: {"ENOTRECOVERABLE", "State not recoverable"},
	ENOTSOCK:        {"ENOTSOCK", "Not a socket"},
	ENOTTY:          {"ENOTTY", "Not a tty"},
	ENXIO:           {"ENXIO", "No such device or address"},
	EOVERFLOW:       {"EOVERFLOW", "Value too large for data type"},
	EOWNERDEAD:      {"EOWNERDEAD", "Previous owner died"},
	EPERM:           {"EPERM", "Operation not permitted"},
	EPIPE:           {"EPIPE", "Broken pipe"},
	EPROTO:          {"EPROTO", "Protocol error"},
	EPROTONOSUPPORT: {"EPROTONOSUPPORT", "Protocol not supported"},
	EPROTOTYPE:      {"EPROTOTYPE", "Protocol wrong type for socket"},
	ERANGE:          {"ERANGE", "Result not representable"},
	EROFS:           {"EROFS", "Read-only file system"},
	ESPIPE:          {"ESPIPE", "Invalid seek"},
	ESRCH:           {"ESRCH", "No such process"},
	ESTALE:          {"ESTALE", "Stale file handle"},
	ETIMEDOUT:       {"ETIMEDOUT", "Operation timed out"},
	ETXTBSY:         {"ETXTBSY", "Text file busy"},
	EXDEV:           {"EXDEV", "Cross-device link"},
	ENOSTR:          {"ENOSTR", "Device not a stream"},
	ENOTBLK:         {"ENOTBLK", "Block device required"},
	ENODATA:         {"ENODATA", "No data available"},
	ETIME:           {"ETIME", "Device timeout"},
	ENOSR:           {"ENOSR", "Out of streams resources"},
	EBADFD:          {"EBADFD", "File descriptor in bad state"},
	ESOCKTNOSUPPORT: {"ESOCKTNOSUPPORT", "Socket type not supported"},
	EOPNOTSUPP:      {"EOPNOTSUPP", "Not supported"},
	EPFNOSUPPORT:    {"EPFNOSUPPORT", "Protocol family not supported"},
	ESHUTDOWN:       {"ESHUTDOWN", "Cannot send after socket shutdown"},
	EHOSTDOWN:       {"EHOSTDOWN", "Host is down"},
	ENOMEDIUM:       {"ENOMEDIUM", "No medium found"},
}
