package layout

import "coderunner/internal/machine/abi"

// StatSize is the size of struct stat (musl arch/emscripten/bits/stat.h):
//
//	 0     4      8       12    16    20     24        32        36
//	| dev | mode | nlink | uid | gid | rdev | size i64| blksize | blocks i32 |
//	 40            56            72            88        96
//	| atim (16)   | mtim (16)   | ctim (16)   | ino u64 |
const StatSize = 96

// PutStat writes s to b. Blocks saturates at 31 bits.
func PutStat(b []byte, s *abi.Stat) {
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
	PutTimespec(b[40:], s.Atime)
	PutTimespec(b[56:], s.Mtime)
	PutTimespec(b[72:], s.Ctime)
	le.PutUint64(b[88:], s.Ino)
}

// StatfsSize is the size of struct statfs, which statfs64(2) fills:
//
//	 0      4       8            16          24           32           40
//	| type | bsize | blocks u64 | bfree u64 | bavail u64 | files u64  | ffree u64 |
//	 48         56        60       64      68          84     88
//	| fsid 2×4 | namelen | frsize | flags | spare 4×4 | pad |
const StatfsSize = 88

// PutStatfs writes s to b, spare bytes as zeros.
func PutStatfs(b []byte, s *abi.Statfs) {
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

// TimespecSize is the size of struct timespec:
//
//	 0         8           12    16
//	| sec i64 | nsec i32  | pad |
const TimespecSize = 16

// DecodeTimespec reads a struct timespec.
func DecodeTimespec(b []byte) abi.Timespec {
	_ = b[TimespecSize-1]
	return abi.Timespec{Sec: int64(le.Uint64(b)), Nsec: int32(le.Uint32(b[8:]))}
}

// PutTimespec writes t to b.
func PutTimespec(b []byte, t abi.Timespec) {
	_ = b[TimespecSize-1]
	le.PutUint64(b, uint64(t.Sec))
	le.PutUint32(b[8:], uint32(t.Nsec))
	le.PutUint32(b[12:], 0)
}
