package wheel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
