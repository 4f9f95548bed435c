package wheel

import (
	"archive/zip"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"
)

// The directory is read by archive/zip, which accepts archives that two readers
// may see differently. So the parts that it ignores are checked here: the end
// record, the space between the entries, the local headers and data descriptors
// (APPNOTE.TXT 4.3):
//
//	local header, 30 bytes        end, 22 bytes
//	 0 PK\3\4                      0 PK\5\6
//	 6 flags                       4 disk numbers
//	 8 method                     10 entries
//	14 CRC-32                     12 directory size
//	18 packed, unpacked size      16 directory offset
//	26 length of name, extra      20 length of comment
const (
	localSize = 30
	entrySize = 46 // of the directory, without name, extra fields and comment
	endSize   = 22

	localMagic = "PK\x03\x04"
	endMagic   = "PK\x05\x06"

	flagEncrypted  = 1 << 0
	flagDescriptor = 1 << 3
	flagStrong     = 1 << 6
	flagUTF8       = 1 << 11
	flagMasked     = 1 << 13

	madeByUnix = 3

	extraZip64       = 0x0001
	extraUnicodePath = 0x7075
)

// entry is one file or directory of the archive.
type entry struct {
	*zip.File
	name   string // without a directory's closing slash
	dir    bool
	packed int64 // bytes
	size   int64 // bytes, as claimed
}

// archive is a zip file whose central directory and local headers agree, and
// whose entries are contiguous, with nothing between or around them.
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
	length, err := a.checkEnd(size, limits)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // checkName reports that
		return nil, fmt.Errorf("its zip directory cannot be read: %w", err)
	}
	folded := map[string]string{}
	var claimed, packed int64
	for _, f := range z.File {
		length -= int64(entrySize + len(f.Name) + len(f.Extra) + len(f.Comment))
		e := &entry{File: f, packed: int64(f.CompressedSize64), size: int64(f.UncompressedSize64)}
		if err := e.check(limits); err != nil {
			return nil, err
		}
		if err := a.add(e, folded); err != nil {
			return nil, err
		}
		claimed += e.size
		packed += e.packed
		if claimed > limits.TotalBytes {
			return nil, fmt.Errorf("it unpacks to more than %d bytes", limits.TotalBytes)
		}
	}
	if length != 0 {
		return nil, errors.New("its zip directory has bytes after the last entry")
	}
	if claimed > limits.RatioFrom && claimed > limits.Ratio*packed {
		return nil, fmt.Errorf("it unpacks to %d bytes from %d, which looks like a bomb", claimed, packed)
	}
	return a, a.checkLocals()
}

// checkEnd checks the end record and returns the directory's length.
func (a *archive) checkEnd(size int64, limits Limits) (length int64, err error) {
	var end [endSize]byte
	if size < endSize {
		return 0, errors.New("it is too short to be a zip file")
	}
	if _, err := a.r.ReadAt(end[:], size-endSize); err != nil {
		return 0, fmt.Errorf("its zip directory cannot be read: %w", err)
	}
	// With a comment, or anything else after the end record, two readers may
	// find two different directories.
	if string(end[:4]) != endMagic || le16(end[20:]) != 0 {
		return 0, errors.New("it does not end with a zip end record (not a zip file, cut short, or with bytes appended)")
	}
	if le16(end[4:]) != 0 || le16(end[6:]) != 0 || le16(end[8:]) != le16(end[10:]) {
		return 0, errors.New("it is one part of a zip file in several parts")
	}
	count, length, start := int(le16(end[10:])), int64(le32(end[12:])), int64(le32(end[16:]))
	switch {
	case count == 0xffff || length == 0xffffffff || start == 0xffffffff:
		return 0, errZip64
	case count > limits.Entries:
		return 0, fmt.Errorf("it has %d entries, %d are allowed", count, limits.Entries)
	case start+length != size-endSize:
		return 0, errors.New("its zip directory does not end where the end record begins")
	case length < int64(count)*entrySize:
		return 0, errors.New("its zip directory is too short for its entries")
	}
	a.start = start
	return length, nil
}

// check refuses kinds of entries that wheels do not have.
func (e *entry) check(limits Limits) error {
	if len(e.Name) > limits.NameBytes {
		return fmt.Errorf("it has an entry with a name of %d bytes", len(e.Name))
	}
	if err := e.checkName(); err != nil {
		return err
	}
	if large, err := checkExtra(e.Extra, e.name); err != nil {
		return err
	} else if large != nil {
		return errZip64
	}
	mode, unix := e.Mode(), e.CreatorVersion>>8 == madeByUnix && e.ExternalAttrs>>16&0o170000 != 0
	switch {
	case unix && mode.Type()&fs.ModeSymlink != 0:
		return fmt.Errorf("its entry %q is a symbolic link", e.name)
	case unix && mode.Type()&^fs.ModeDir != 0:
		return fmt.Errorf("its entry %q is a device or another special file", e.name)
	case unix && e.ExternalAttrs>>16&0o170000 == 0o040000 != e.dir:
		return fmt.Errorf("its entry %q is a directory by one mark and a file by another", e.name)
	case e.Flags&(flagEncrypted|flagStrong|flagMasked) != 0:
		return fmt.Errorf("its entry %q is encrypted", e.name)
	case e.Method != zip.Store && e.Method != zip.Deflate:
		return fmt.Errorf("its entry %q is packed with the unknown method %d", e.name, e.Method)
	case e.packed >= 0xffffffff || e.size >= 0xffffffff:
		return errZip64
	case e.dir && (e.size != 0 || e.packed > 2):
		return fmt.Errorf("its directory %q has contents", e.name)
	case e.Method == zip.Store && e.size != e.packed:
		return fmt.Errorf("its stored entry %q has two sizes", e.name)
	}
	return nil
}

// checkName sets dir, removes a directory's closing slash and refuses names that
// are not clearly a path inside the wheel.
func (e *entry) checkName() error {
	name := e.Name
	switch {
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("it has an entry name with a NUL byte, %q", name)
	case !utf8.ValidString(name):
		return fmt.Errorf("it has an entry name that is not UTF-8, %q", name)
	case e.Flags&flagUTF8 == 0 && strings.ContainsFunc(name, func(r rune) bool { return r > 126 }):
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
			return fmt.Errorf("it has an entry that leaves its directory, %q", name)
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

// checkExtra refuses extra fields that give the entry another name. It returns the
// contents of the zip64 field, which has other sizes, or nil.
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

// add adds an entry unless its name is there already, in any case.
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

// checkFold records path and each of its directories in lower case, and returns an
// error when one is there with other capitals.
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

// checkLocals checks that each local header agrees with the directory and that
// the entries fill the file from its first byte to the directory.
func (a *archive) checkLocals() error {
	data := map[*entry]int64{} // offsets, from the headers that the directory names
	for _, e := range a.entries {
		at, err := e.DataOffset()
		if err != nil {
			return fmt.Errorf("its entry %q has no local header where the directory says", e.name)
		}
		data[e] = at
	}
	sorted := slices.SortedFunc(slices.Values(a.entries), func(x, y *entry) int { return cmp.Compare(data[x], data[y]) })
	at := int64(0) // where the next header has to be
	for _, e := range sorted {
		// archive/zip does not expose a header's offset, so it is read where it
		// has to be: it is the directory's if the same data follows it.
		header, tail, err := a.readLocal(at, e.name)
		if err != nil {
			return err
		}
		switch begin := at + localSize + int64(len(tail)); {
		case data[e] < begin || data[e]+e.packed > a.start:
			return fmt.Errorf("its entry %q overlaps with another one", e.name)
		case data[e] > begin:
			return fmt.Errorf("it has bytes before the entry %q that belong to none", e.name)
		}
		if err := e.checkLocal(header, tail); err != nil {
			return err
		}
		if at, err = a.checkDescriptor(e, data[e]+e.packed); err != nil {
			return err
		}
	}
	if at != a.start {
		return errors.New("it has bytes before its zip directory that belong to no entry")
	}
	return nil
}

// readLocal reads a local header and the name and extra fields after it.
func (a *archive) readLocal(at int64, name string) (header, tail []byte, err error) {
	header, err = a.read(at, localSize, name)
	if err != nil {
		return nil, nil, err
	}
	if string(header[:4]) != localMagic {
		return nil, nil, fmt.Errorf("it has bytes before the entry %q that belong to none", name)
	}
	tail, err = a.read(at+localSize, int64(le16(header[26:]))+int64(le16(header[28:])), name)
	return header, tail, err
}

// read reads n bytes of an entry, which must lie before the directory.
func (a *archive) read(at, n int64, name string) ([]byte, error) {
	if at+n > a.start {
		return nil, fmt.Errorf("its entry %q overlaps with the zip directory", name)
	}
	b := make([]byte, n)
	if _, err := a.r.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("its entry %q cannot be read: %w", name, err)
	}
	return b, nil
}

// checkLocal compares a local header with the directory's entry.
func (e *entry) checkLocal(h, tail []byte) error {
	n := le16(h[26:])
	large, err := checkExtra(tail[n:], e.name)
	if err != nil {
		return err
	}
	sizesAgree := le32(h[14:]) == e.CRC32 && e.localSizes(h, large)
	if e.Flags&flagDescriptor != 0 && large == nil && le32(h[14:]) == 0 && le32(h[18:]) == 0 && le32(h[22:]) == 0 {
		sizesAgree = true
	}
	if string(tail[:n]) != e.Name || le16(h[6:]) != e.Flags || le16(h[8:]) != e.Method || !sizesAgree {
		return fmt.Errorf("its entry %q has a local header that differs from the directory", e.name)
	}
	return nil
}

// checkDescriptor checks the data descriptor after an entry's data, if it has one
// (APPNOTE.TXT 4.3.9), and returns where the next record begins.
func (a *archive) checkDescriptor(e *entry, end int64) (next int64, err error) {
	if e.Flags&flagDescriptor == 0 {
		return end, nil
	}
	b, err := a.read(end, 12, e.name)
	if err != nil {
		return 0, err
	}
	next = end + 12
	if strings.HasPrefix(string(b), "PK\x07\x08") { // the signature is optional
		if b, err = a.read(end+4, 12, e.name); err != nil {
			return 0, err
		}
		next += 4
	}
	if le32(b) != e.CRC32 || int64(le32(b[4:])) != e.packed || int64(le32(b[8:])) != e.size {
		return 0, fmt.Errorf("its entry %q has a data descriptor that differs from the directory", e.name)
	}
	return next, nil
}

// localSizes reports whether the sizes in a local header are those of the
// directory. Writers that do not know in advance how large an entry will be
// put both into a zip64 field as well or instead (APPNOTE.TXT 4.5.3), and the
// directory needs none then.
func (e *entry) localSizes(h, large []byte) bool {
	packed, size := int64(le32(h[18:])), int64(le32(h[22:]))
	if large == nil {
		return packed == e.packed && size == e.size
	}
	same := func(plain, want int64) bool { return plain == want || plain == 0xffffffff }
	return len(large) == 16 && same(packed, e.packed) && same(size, e.size) &&
		le64(large) == uint64(e.size) && le64(large[8:]) == uint64(e.packed)
}
