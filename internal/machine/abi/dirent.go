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

// Dirent is struct dirent. Off is the cookie that lseek takes to go on after
// this entry; Name has at most NAME_MAX bytes.
type Dirent struct {
	Ino  uint64
	Off  int64
	Type uint8
	Name string
}
