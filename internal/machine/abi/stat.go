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

// StatSize is the size of struct stat (musl arch/emscripten/bits/stat.h):
//
//	 0     4      8       12    16    20     24        32        36
//	| dev | mode | nlink | uid | gid | rdev | size i64| blksize | blocks i32 |
//	 40            56            72            88        96
//	| atim (16)   | mtim (16)   | ctim (16)   | ino u64 |
const StatSize = 96

// Stat is struct stat. Blocks counts 512-byte units.
type Stat struct {
	Dev     uint32
	Mode    uint32
	Nlink   uint32
	UID     uint32
	GID     uint32
	Rdev    uint32
	Size    int64
	Blksize int32
	Blocks  int64 // encoded in 32 bits, saturating
	Atime   Timespec
	Mtime   Timespec
	Ctime   Timespec
	Ino     uint64
}

// IsDir reports whether the mode is a directory's.
func (s *Stat) IsDir() bool { return s.Mode&S_IFMT == S_IFDIR }

// Put writes s to the first StatSize bytes of b.
func (s *Stat) Put(b []byte) {
	_ = b[StatSize-1]
	le.PutUint32(b[0:], s.Dev)
	le.PutUint32(b[4:], s.Mode)
	le.PutUint32(b[8:], s.Nlink)
	le.PutUint32(b[12:], s.UID)
	le.PutUint32(b[16:], s.GID)
	le.PutUint32(b[20:], s.Rdev)
	le.PutUint64(b[24:], uint64(s.Size))
	le.PutUint32(b[32:], uint32(s.Blksize))
	le.PutUint32(b[36:], uint32(min(s.Blocks, 1<<31-1)))
	s.Atime.Put(b[40:])
	s.Mtime.Put(b[56:])
	s.Ctime.Put(b[72:])
	le.PutUint64(b[88:], s.Ino)
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

// StatfsSize is the size of struct statfs, which statfs64(2) fills:
//
//	 0      4       8            16          24           32           40
//	| type | bsize | blocks u64 | bfree u64 | bavail u64 | files u64  | ffree u64 |
//	 48         56        60       64      68          84     88
//	| fsid 2×4 | namelen | frsize | flags | spare 4×4 | pad |
const StatfsSize = 88

// Statfs is struct statfs; the block counts are in units of Bsize bytes.
type Statfs struct {
	Type, Bsize          uint32
	Blocks, Bfree        uint64
	Bavail, Files, Ffree uint64
	Fsid                 uint64
	Namelen              uint32
	Frsize, Flags        uint32
}

// Put writes s to the first StatfsSize bytes of b, spare bytes as zeros.
func (s *Statfs) Put(b []byte) {
	clear(b[:StatfsSize])
	le.PutUint32(b[0:], s.Type)
	le.PutUint32(b[4:], s.Bsize)
	le.PutUint64(b[8:], s.Blocks)
	le.PutUint64(b[16:], s.Bfree)
	le.PutUint64(b[24:], s.Bavail)
	le.PutUint64(b[32:], s.Files)
	le.PutUint64(b[40:], s.Ffree)
	le.PutUint64(b[48:], s.Fsid)
	le.PutUint32(b[56:], s.Namelen)
	le.PutUint32(b[60:], s.Frsize)
	le.PutUint32(b[64:], s.Flags)
}

// Nanoseconds with a meaning of their own in utimensat(2).
const (
	UTIME_NOW  = 0x3fffffff
	UTIME_OMIT = 0x3ffffffe
)

// TimespecSize is the size of struct timespec:
//
//	 0         8           12    16
//	| sec i64 | nsec i32  | pad |
const TimespecSize = 16

// Timespec is struct timespec. Nsec lies in [0, 1e9) except for UTIME_NOW and
// UTIME_OMIT.
type Timespec struct {
	Sec  int64
	Nsec int32
}

// NewTimespec is t as seconds and nanoseconds since 1970.
func NewTimespec(t time.Time) Timespec { return Timespec{t.Unix(), int32(t.Nanosecond())} }

// DecodeTimespec reads the first TimespecSize bytes of b.
func DecodeTimespec(b []byte) Timespec {
	_ = b[TimespecSize-1]
	return Timespec{int64(le.Uint64(b)), int32(le.Uint32(b[8:]))}
}

// Time is t as a time.Time in the local zone.
func (t Timespec) Time() time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

// Before reports whether t is earlier than u.
func (t Timespec) Before(u Timespec) bool {
	return t.Sec < u.Sec || t.Sec == u.Sec && t.Nsec < u.Nsec
}

// Put writes t to the first TimespecSize bytes of b.
func (t Timespec) Put(b []byte) {
	_ = b[TimespecSize-1]
	le.PutUint64(b, uint64(t.Sec))
	le.PutUint32(b[8:], uint32(t.Nsec))
	le.PutUint32(b[12:], 0)
}
