package abi

// Flags of open(2) (musl arch/generic/bits/fcntl.h).
const (
	O_RDONLY    uint32 = 0
	O_WRONLY    uint32 = 1
	O_RDWR      uint32 = 2
	O_CREAT     uint32 = 0o100
	O_EXCL      uint32 = 0o200
	O_TRUNC     uint32 = 0o1000
	O_APPEND    uint32 = 0o2000
	O_NONBLOCK  uint32 = 0o4000
	O_LARGEFILE uint32 = 0o100000
	O_DIRECTORY uint32 = 0o200000
	O_NOFOLLOW  uint32 = 0o400000
	O_CLOEXEC   uint32 = 0o2000000
	O_SYNC      uint32 = 0o4010000
	O_PATH      uint32 = 0o10000000
	O_TMPFILE   uint32 = 0o20200000 // includes O_DIRECTORY

	// O_ACCMODE masks the access mode; musl counts O_PATH in.
	O_ACCMODE uint32 = 3 | O_PATH
)

// Commands of fcntl(2). The lock commands are the 64-bit ones; 32-bit targets
// of musl know no others.
const (
	F_DUPFD         = 0
	F_GETFD         = 1
	F_SETFD         = 2
	F_GETFL         = 3
	F_SETFL         = 4
	F_SETOWN        = 8
	F_GETOWN        = 9
	F_GETLK         = 12
	F_SETLK         = 13
	F_SETLKW        = 14
	F_OFD_GETLK     = 36
	F_OFD_SETLK     = 37
	F_OFD_SETLKW    = 38
	F_DUPFD_CLOEXEC = 1030
	F_SETPIPE_SZ    = 1031
	F_GETPIPE_SZ    = 1032

	F_UNLCK = 2

	FD_CLOEXEC = 1
)

// Flags and the pseudo descriptor of the *at calls.
const (
	AT_FDCWD                   = -100
	AT_SYMLINK_NOFOLLOW uint32 = 0x100
	AT_REMOVEDIR        uint32 = 0x200
	AT_SYMLINK_FOLLOW   uint32 = 0x400
	AT_EMPTY_PATH       uint32 = 0x1000
)

// Whence of lseek(2), as in WASI.
const (
	SEEK_SET = 0
	SEEK_CUR = 1
	SEEK_END = 2
)

// Modes of access(2).
const (
	F_OK uint32 = 0
	X_OK uint32 = 1
	W_OK uint32 = 2
	R_OK uint32 = 4
)

// Flags of renameat2(2).
const (
	RENAME_NOREPLACE uint32 = 1
	RENAME_EXCHANGE  uint32 = 2
)

// Limits of paths (musl limits.h). PATH_MAX counts the final NUL.
const (
	NAME_MAX = 255
	PATH_MAX = 4096
)

// Requests of ioctl(2).
const (
	TCGETS     = 0x5401
	TCSETS     = 0x5402
	TCSETSW    = 0x5403
	TCSETSF    = 0x5404
	TCGETA     = 0x5405
	TCSETA     = 0x5406
	TCSETAW    = 0x5407
	TCSETAF    = 0x5408
	TCFLSH     = 0x540B
	TIOCGPGRP  = 0x540F
	TIOCSPGRP  = 0x5410
	TIOCGWINSZ = 0x5413
	TIOCSWINSZ = 0x5414
	FIONREAD   = 0x541B
	FIONBIO    = 0x5421
	FIOCLEX    = 0x5451
)
