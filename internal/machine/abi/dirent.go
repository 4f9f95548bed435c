package abi

// Types of d_type.
const (
	DT_UNKNOWN uint8 = 0
	DT_FIFO    uint8 = 1
	DT_CHR     uint8 = 2
	DT_DIR     uint8 = 4
	DT_BLK     uint8 = 6
	DT_REG     uint8 = 8
	DT_LNK     uint8 = 10
	DT_SOCK    uint8 = 12
)

// DirentType is the d_type of a file with the given st_mode.
func DirentType(mode uint32) uint8 { return uint8(mode & S_IFMT >> 12) }

// DirentSize is the size of struct dirent. Emscripten's getdents64 always
// writes whole structs, 280 bytes each, whatever the name's length:
//
//	 0         8         16       18     19                275   280
//	| ino u64 | off i64 | reclen | type | name, NUL-ended | pad |
const DirentSize = 280

// Dirent is struct dirent. Off is the cookie that lseek takes to go on after
// this entry; Name has at most NAME_MAX bytes.
type Dirent struct {
	Ino  uint64
	Off  int64
	Type uint8
	Name string
}

// Put writes d to the first DirentSize bytes of b; a longer name is cut.
func (d *Dirent) Put(b []byte) {
	clear(b[:DirentSize])
	le.PutUint64(b[0:], d.Ino)
	le.PutUint64(b[8:], uint64(d.Off))
	le.PutUint16(b[16:], DirentSize)
	b[18] = d.Type
	copy(b[19:19+NAME_MAX], d.Name)
}
