package wheel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkLocals compares each local header with the directory and sees that the
// entries fill the file from its first byte to the directory.
func (a *archive) checkLocals() error {
	sorted := slices.Clone(a.entries)
	slices.SortFunc(sorted, func(x, y *entry) int {
		switch {
		case x.header < y.header:
			return -1
		case x.header > y.header:
			return 1
		}
		return 0
	})
	at := int64(0)
	for i, e := range sorted {
		if e.header < at {
			return fmt.Errorf("its entry %q overlaps with another one", e.name)
		}
		if e.header > at {
			return fmt.Errorf("it has bytes before the entry %q that belong to none", e.name)
		}
		next := a.start
		if i+1 < len(sorted) {
			next = sorted[i+1].header
		}
		if err := a.checkLocal(e, next); err != nil {
			return err
		}
		at = next
	}
	if at != a.start {
		return errors.New("it has bytes before its zip directory that belong to no entry")
	}
	return nil
}

// checkLocal compares one local header with its directory entry. next is where
// the following record begins.
func (a *archive) checkLocal(e *entry, next int64) error {
	var h [localSize]byte
	if e.header+localSize > a.start {
		return fmt.Errorf("its entry %q lies outside the file", e.name)
	}
	if _, err := a.r.ReadAt(h[:], e.header); err != nil {
		return fmt.Errorf("its entry %q cannot be read: %w", e.name, err)
	}
	if string(h[:4]) != localMagic {
		return fmt.Errorf("its entry %q has no local header", e.name)
	}
	nameLen, extraLen := int64(le16(h[26:])), int64(le16(h[28:]))
	e.data = e.header + localSize + nameLen + extraLen
	end := e.data + e.packed
	if end > next {
		return fmt.Errorf("its entry %q overlaps with another one", e.name)
	}
	tail := make([]byte, nameLen+extraLen)
	if _, err := a.r.ReadAt(tail, e.header+localSize); err != nil {
		return fmt.Errorf("its entry %q cannot be read: %w", e.name, err)
	}
	name, isDir := strings.CutSuffix(string(tail[:nameLen]), "/")
	large, err := checkExtra(tail[nameLen:], e.name)
	if err != nil {
		return err
	}
	sizesAgree := le32(h[14:]) == e.crc && e.localSizes(h[:], large)
	described := e.flags&flagDescriptor != 0
	if described && large == nil && le32(h[14:]) == 0 && le32(h[18:]) == 0 && le32(h[22:]) == 0 {
		sizesAgree = true
	}
	if name != e.name || isDir != e.dir || le16(h[6:]) != e.flags || le16(h[8:]) != e.method || !sizesAgree {
		return fmt.Errorf("its entry %q has a local header that says otherwise than the directory", e.name)
	}
	return a.checkGap(e, end, next)
}

// checkGap looks at what lies between an entry's data and the next record:
// nothing, or a data descriptor (APPNOTE.TXT 4.3.9) that says the same.
func (a *archive) checkGap(e *entry, end, next int64) error {
	gap := next - end
	if gap == 0 && e.flags&flagDescriptor == 0 {
		return nil
	}
	if e.flags&flagDescriptor == 0 || gap != 12 && gap != 16 {
		return fmt.Errorf("it has bytes after the entry %q that belong to none", e.name)
	}
	b := make([]byte, gap)
	if _, err := a.r.ReadAt(b, end); err != nil {
		return fmt.Errorf("its entry %q cannot be read: %w", e.name, err)
	}
	if gap == 16 {
		if string(b[:4]) != "PK\x07\x08" {
			return fmt.Errorf("it has bytes after the entry %q that belong to none", e.name)
		}
		b = b[4:]
	}
	if le32(b) != e.crc || int64(le32(b[4:])) != e.packed || int64(le32(b[8:])) != e.size {
		return fmt.Errorf("its entry %q has a data descriptor that says otherwise than the directory", e.name)
	}
	return nil
}

// localSizes says whether the sizes in a local header are those of the
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
