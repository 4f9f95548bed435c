package wheel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// The records of a zip file, with the offsets of the fields that are read
// (APPNOTE.TXT 4.3):
//
//	local header, 30 bytes        directory entry, 46 bytes    end, 22 bytes
//	 0 PK\3\4                      0 PK\1\2                     0 PK\5\6
//	 6 flags                       5 made by (3: Unix)          4 disk numbers
//	 8 method                      8 flags                     10 entries
//	14 CRC-32                     10 method                    12 directory size
//	18 packed, unpacked size      16 CRC-32                    16 directory offset
//	26 length of name, extra      20 packed, unpacked size     20 length of comment
//	                              28 length of name, extra, comment
//	                              38 external attributes
//	                              42 offset of the local header
const (
	localSize = 30
	entrySize = 46
	endSize   = 22

	localMagic = "PK\x03\x04"
	entryMagic = "PK\x01\x02"
	endMagic   = "PK\x05\x06"

	flagEncrypted  = 1 << 0
	flagDescriptor = 1 << 3
	flagStrong     = 1 << 6
	flagUTF8       = 1 << 11
	flagMasked     = 1 << 13

	methodStored   = 0
	methodDeflated = 8

	madeByUnix = 3
	modeType   = 0o170000
	modeDir    = 0o040000
	modeFile   = 0o100000
	modeLink   = 0o120000

	extraZip64       = 0x0001
	extraUnicodePath = 0x7075
)

// entry is one file or folder of the archive.
type entry struct {
	name   string // without the folder's closing slash
	dir    bool
	method uint16
	flags  uint16
	crc    uint32
	packed int64 // bytes
	size   int64 // bytes, as claimed
	header int64 // offset of the local header
	data   int64 // offset of the data
}

// archive is a zip file whose central directory and local headers agree, and
// whose entries lie one behind the other with nothing between or around them.
type archive struct {
	r       io.ReaderAt
	entries []*entry // in the directory's order
	byName  map[string]*entry
	start   int64 // of the directory
}

func le16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func readArchive(r io.ReaderAt, size int64, limits Limits) (*archive, error) {
	a := &archive{r: r, byName: map[string]*entry{}}
	directory, count, err := a.readDirectory(size, limits)
	if err != nil {
		return nil, err
	}
	folded := map[string]string{}
	var claimed, packed int64
	for range count {
		e, rest, err := parseEntry(directory, limits)
		if err != nil {
			return nil, err
		}
		directory = rest
		if err := a.add(e, folded); err != nil {
			return nil, err
		}
		claimed += e.size
		packed += e.packed
		if claimed > limits.TotalBytes {
			return nil, fmt.Errorf("it unpacks to more than %d bytes", limits.TotalBytes)
		}
	}
	if len(directory) != 0 {
		return nil, errors.New("its zip directory has bytes after the last entry")
	}
	if claimed > limits.RatioFrom && claimed > limits.Ratio*packed {
		return nil, fmt.Errorf("it unpacks to %d bytes from %d, which looks like a bomb", claimed, packed)
	}
	return a, a.checkLocals()
}

// readDirectory finds the end record and reads the central directory.
func (a *archive) readDirectory(size int64, limits Limits) (directory []byte, count int, err error) {
	var end [endSize]byte
	if size < endSize {
		return nil, 0, errors.New("it is too short to be a zip file")
	}
	if _, err := a.r.ReadAt(end[:], size-endSize); err != nil {
		return nil, 0, fmt.Errorf("its zip directory cannot be read: %w", err)
	}
	// With a comment, or anything else behind the end record, two readers may
	// find two different directories.
	if string(end[:4]) != endMagic || le16(end[20:]) != 0 {
		return nil, 0, errors.New("it does not end with a zip end record (not a zip file, cut short, or with bytes appended)")
	}
	if le16(end[4:]) != 0 || le16(end[6:]) != 0 || le16(end[8:]) != le16(end[10:]) {
		return nil, 0, errors.New("it is one part of a zip file in several parts")
	}
	count = int(le16(end[10:]))
	length, start := int64(le32(end[12:])), int64(le32(end[16:]))
	if count == 0xffff || length == 0xffffffff || start == 0xffffffff {
		return nil, 0, errZip64
	}
	if count > limits.Entries {
		return nil, 0, fmt.Errorf("it has %d entries, %d are allowed", count, limits.Entries)
	}
	if start+length != size-endSize {
		return nil, 0, errors.New("its zip directory does not end where the end record begins")
	}
	if length < int64(count)*entrySize {
		return nil, 0, errors.New("its zip directory is too short for its entries")
	}
	a.start = start
	directory = make([]byte, length)
	if _, err := a.r.ReadAt(directory, start); err != nil {
		return nil, 0, fmt.Errorf("its zip directory cannot be read: %w", err)
	}
	return directory, count, nil
}

// parseEntry reads the first entry of the directory and returns what follows.
func parseEntry(b []byte, limits Limits) (*entry, []byte, error) {
	if len(b) < entrySize || string(b[:4]) != entryMagic {
		return nil, nil, errors.New("its zip directory has a malformed entry")
	}
	nameLen, extraLen, commentLen := int(le16(b[28:])), int(le16(b[30:])), int(le16(b[32:]))
	end := entrySize + nameLen + extraLen + commentLen
	if len(b) < end {
		return nil, nil, errors.New("its zip directory has an entry that is cut short")
	}
	if nameLen > limits.NameBytes {
		return nil, nil, fmt.Errorf("it has an entry with a name of %d bytes", nameLen)
	}
	e := &entry{
		name:   string(b[entrySize : entrySize+nameLen]),
		flags:  le16(b[8:]),
		method: le16(b[10:]),
		crc:    le32(b[16:]),
		packed: int64(le32(b[20:])),
		size:   int64(le32(b[24:])),
		header: int64(le32(b[42:])),
	}
	if err := e.checkName(); err != nil {
		return nil, nil, err
	}
	extra := b[entrySize+nameLen : entrySize+nameLen+extraLen]
	if large, err := checkExtra(extra, e.name); err != nil {
		return nil, nil, err
	} else if large != nil {
		return nil, nil, errZip64
	}
	mode := uint32(0)
	if b[5] == madeByUnix {
		mode = le32(b[38:]) >> 16
	}
	return e, b[end:], e.check(mode)
}

// check refuses what an entry of a wheel never is. mode is Unix's, or 0.
func (e *entry) check(mode uint32) error {
	switch kind := mode & modeType; {
	case kind == modeLink:
		return fmt.Errorf("its entry %q is a symbolic link", e.name)
	case kind != 0 && kind != modeFile && kind != modeDir:
		return fmt.Errorf("its entry %q is a device or another special file", e.name)
	case kind == modeDir && !e.dir, kind == modeFile && e.dir:
		return fmt.Errorf("its entry %q is a folder by one mark and a file by another", e.name)
	case e.flags&(flagEncrypted|flagStrong|flagMasked) != 0:
		return fmt.Errorf("its entry %q is encrypted", e.name)
	case e.method != methodStored && e.method != methodDeflated:
		return fmt.Errorf("its entry %q is packed with the unknown method %d", e.name, e.method)
	case e.packed == 0xffffffff || e.size == 0xffffffff || e.header == 0xffffffff:
		return errZip64
	case e.dir && (e.size != 0 || e.packed > 2):
		return fmt.Errorf("its folder %q has contents", e.name)
	case e.method == methodStored && e.size != e.packed:
		return fmt.Errorf("its stored entry %q has two sizes", e.name)
	}
	return nil
}

// checkName sets dir, cuts a folder's closing slash off and refuses names that
// could mean anything but a path inside the wheel.
func (e *entry) checkName() error {
	name := e.name
	switch {
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("it has an entry name with a NUL byte, %q", name)
	case !utf8.ValidString(name):
		return fmt.Errorf("it has an entry name that is not UTF-8, %q", name)
	case e.flags&flagUTF8 == 0 && strings.ContainsFunc(name, func(r rune) bool { return r > 126 }):
		return fmt.Errorf("it has an entry name in an unknown encoding, %q", name)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 127 }):
		return fmt.Errorf("it has an entry name with a control character, %q", name)
	case strings.Contains(name, `\`):
		return fmt.Errorf("it has an entry name with a backslash, %q", name)
	case strings.HasPrefix(name, "/"):
		return fmt.Errorf("it has an entry with an absolute name, %q", name)
	case len(name) >= 2 && name[1] == ':':
		return fmt.Errorf("it has an entry name with a drive letter, %q", name)
	}
	e.name, e.dir = strings.CutSuffix(name, "/")
	for part := range strings.SplitSeq(e.name, "/") {
		switch {
		case part == "..":
			return fmt.Errorf("it has an entry that leaves its folder, %q", name)
		case part == "" || part == ".":
			return fmt.Errorf("it has an entry with an empty part in its name, %q", name)
		case len(part) > 255:
			return fmt.Errorf("it has an entry name that is too long, %.60q…", name)
		}
	}
	return nil
}

// errZip64 refuses archives that are too large to be wheels.
var errZip64 = errors.New("it is a zip64 file")

// checkExtra walks the extra fields and refuses those that change what the
// entry's name is. It gives the contents of the zip64 field, which has other
// sizes, or nil.
func checkExtra(b []byte, name string) (large []byte, err error) {
	for len(b) >= 4 {
		id, n := le16(b), int(le16(b[2:]))
		if len(b) < 4+n {
			return nil, fmt.Errorf("its entry %q has a malformed extra field", name)
		}
		switch {
		case id == extraZip64 && large != nil:
			return nil, errZip64
		case id == extraZip64:
			large = b[4 : 4+n : 4+n]
		case id == extraUnicodePath:
			return nil, fmt.Errorf("its entry %q has a second name", name)
		}
		b = b[4+n:]
	}
	return large, nil
}

// add takes an entry in unless its name was there before, in any spelling.
func (a *archive) add(e *entry, folded map[string]string) error {
	if a.byName[e.name] != nil {
		return fmt.Errorf("it has the entry %q twice", e.name)
	}
	if err := checkFold(folded, e.name); err != nil {
		return err
	}
	a.byName[e.name] = e
	a.entries = append(a.entries, e)
	return nil
}

// checkFold remembers path and each of its folders in lower case and fails
// when one was there in another spelling.
func checkFold(folded map[string]string, path string) error {
	for i := 0; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		key := strings.ToLower(path[:i])
		if old, ok := folded[key]; ok && old != path[:i] {
			return fmt.Errorf("its names %q and %q differ in case only", old, path[:i])
		}
		folded[key] = path[:i]
	}
	return nil
}
