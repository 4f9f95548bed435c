package layout

import "coderunner/internal/machine/abi"

// DirentSize is the size of struct dirent. Emscripten's getdents64 always
// writes whole structs, 280 bytes each, whatever the name's length:
//
//	 0         8         16       18     19                275   280
//	| ino u64 | off i64 | reclen | type | name, NUL-ended | pad |
const DirentSize = 280

// PutDirent writes d to b; a longer name is cut.
func PutDirent(b []byte, d *abi.Dirent) {
	clear(b[:DirentSize])
	le.PutUint64(b[0:], d.Ino)
	le.PutUint64(b[8:], uint64(d.Off))
	le.PutUint16(b[16:], DirentSize)
	b[18] = d.Type
	copy(b[19:19+abi.NAME_MAX], d.Name)
}
