package abi

import (
	"io/fs"
	"time"
)

// Mode bits of st_mode.
const (
	S_IFMT   uint32 = 0o170000
	S_IFSOCK uint32 = 0o140000
	S_IFLNK  uint32 = 0o120000
	S_IFREG  uint32 = 0o100000
	S_IFBLK  uint32 = 0o060000
	S_IFDIR  uint32 = 0o040000
	S_IFCHR  uint32 = 0o020000
	S_IFIFO  uint32 = 0o010000

	S_ISUID uint32 = 0o4000
	S_ISGID uint32 = 0o2000
	S_ISVTX uint32 = 0o1000
)

// Stat is struct stat of stat(2). Blocks counts 512-byte units.
type Stat struct {
	Dev     uint32
	Mode    uint32
	Nlink   uint32
	UID     uint32
	GID     uint32
	Rdev    uint32
	Size    int64
	Blksize int32
	Blocks  int64
	Atime   Timespec
	Mtime   Timespec
	Ctime   Timespec
	Ino     uint64
}

// IsDir reports whether the mode is a directory's.
func (s *Stat) IsDir() bool { return s.Mode&S_IFMT == S_IFDIR }

// Mode is the st_mode of a file's type and permission bits as Go has them.
func Mode(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	switch m.Type() {
	case 0:
		return bits | S_IFREG
	case fs.ModeDir:
		return bits | S_IFDIR
	case fs.ModeSymlink:
		return bits | S_IFLNK
	case fs.ModeNamedPipe:
		return bits | S_IFIFO
	case fs.ModeSocket:
		return bits | S_IFSOCK
	case fs.ModeDevice:
		return bits | S_IFBLK
	}
	return bits | S_IFCHR
}

// FileMode is an st_mode as Go has it.
func FileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & S_IFMT {
	case S_IFDIR:
		m |= fs.ModeDir
	case S_IFLNK:
		m |= fs.ModeSymlink
	case S_IFIFO:
		m |= fs.ModeNamedPipe
	case S_IFSOCK:
		m |= fs.ModeSocket
	case S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case S_IFBLK:
		m |= fs.ModeDevice
	}
	if mode&S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// Statfs is struct statfs; the block counts are in units of Bsize bytes.
type Statfs struct {
	Type, Bsize          uint32
	Blocks, Bfree        uint64
	Bavail, Files, Ffree uint64
	Fsid                 uint64
	Namelen              uint32
	Frsize, Flags        uint32
}

// Nanoseconds with a meaning of their own in utimensat(2).
const (
	UTIME_NOW  = 0x3fffffff
	UTIME_OMIT = 0x3ffffffe
)

// Timespec is struct timespec. Nsec lies in [0, 1e9) except for UTIME_NOW and
// UTIME_OMIT.
type Timespec struct {
	Sec  int64
	Nsec int32
}

// NewTimespec is t as seconds and nanoseconds since 1970.
func NewTimespec(t time.Time) Timespec { return Timespec{t.Unix(), int32(t.Nanosecond())} }

// Time is t as a time.Time in the local zone.
func (t Timespec) Time() time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

// Before reports whether t is earlier than u.
func (t Timespec) Before(u Timespec) bool {
	return t.Sec < u.Sec || t.Sec == u.Sec && t.Nsec < u.Nsec
}
