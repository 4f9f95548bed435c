package codestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// A packed file has the machine code that wazero writes in another order, so that it can be
// mapped: loading copies nothing, and processes share its memory.
//
//	wazero:  head, length of code, code, tail
//	packed:  packedFormat, lengths of head, tail and code, head, tail, zeros, code at a multiple of packedAlign
//
// The head is "WAZEVO", the version, the number of functions and their offsets in the code;
// the tail begins with the code's checksum and 0, which is: no source map.
const (
	packedFormat = "PACK0001"
	packedAlign  = 64 << 10 // the largest page of any processor
	packedBegin  = len(packedFormat) + 3*8
)

// packed describes an open packed file.
type packed struct {
	head, tail []byte
	begin      int64 // of the code
	size       int   // of the code
}

var errDamagedCode = errors.New("the machine code is damaged")

// castagnoli returns the table of CRC-32C, which takes 0.15 ms to make.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// functions returns the place of the number of functions in a head, or 0.
func functions(head []byte) int {
	if magic := "WAZEVO"; bytes.HasPrefix(head, []byte(magic)) && len(head) > len(magic) {
		if at := len(magic) + 1 + int(head[len(magic)]); len(head) >= at+4 {
			return at
		}
	}
	return 0
}

// pack writes a packed file of one of wazero's. What it cannot pack stays as it is.
func pack(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	at := functions(b)
	if at == 0 {
		return os.Rename(from, to)
	}
	head := uint64(at+4) + 8*uint64(binary.LittleEndian.Uint32(b[at:]))
	if head+8 > uint64(len(b)) {
		return os.Rename(from, to)
	}
	size, code := binary.LittleEndian.Uint64(b[head:]), b[head+8:]
	if size == 0 || size > uint64(len(code)) || len(code[size:]) < 5 || code[size+4] != 0 {
		return os.Rename(from, to)
	}
	tail := code[size:]
	begin := []byte(packedFormat)
	for _, n := range []uint64{head, uint64(len(tail)), size} {
		begin = binary.LittleEndian.AppendUint64(begin, n)
	}
	begin = append(append(begin, b[:head]...), tail...)
	begin = append(begin, make([]byte, -len(begin)&(packedAlign-1))...)
	return os.WriteFile(to, append(begin, code[:size]...), 0o600)
}

// readPacked reads what stands before the code of a packed file. It returns nil for other
// files.
func readPacked(f *os.File) (*packed, error) {
	begin := make([]byte, packedBegin)
	if n, err := io.ReadFull(f, begin); !bytes.HasPrefix(begin[:n], []byte(packedFormat)) || err != nil {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var lengths [3]int64
	for i := range lengths {
		if lengths[i] = int64(binary.LittleEndian.Uint64(begin[len(packedFormat)+8*i:])); lengths[i] < 0 || lengths[i] > info.Size() {
			return nil, errDamagedCode
		}
	}
	p := &packed{begin: (int64(packedBegin) + lengths[0] + lengths[1] + packedAlign - 1) &^ (packedAlign - 1), size: int(lengths[2])}
	if info.Size() != p.begin+lengths[2] || p.size == 0 || lengths[1] < 5 {
		return nil, errDamagedCode
	}
	b := make([]byte, lengths[0]+lengths[1])
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, err
	}
	p.head, p.tail = b[:lengths[0]], b[lengths[0]:]
	if at := functions(p.head); at == 0 || (len(p.head)-at-4)%8 != 0 {
		return nil, errDamagedCode
	}
	return p, nil
}

// offsets returns where the functions begin in the code.
func (p *packed) offsets() []int {
	b := p.head[functions(p.head)+4:]
	list := make([]int, len(b)/8)
	for i := range list {
		list[i] = int(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list
}

// check returns an error unless code is what was packed.
func (p *packed) check(code []byte) error {
	for _, at := range p.offsets() {
		if at < 0 || at >= len(code) {
			return errDamagedCode
		}
	}
	if crc32.Checksum(code, castagnoli()) != binary.LittleEndian.Uint32(p.tail) {
		return errDamagedCode
	}
	return nil
}

// writeEmpty writes what wazero reads as a module without functions and code, which are put
// into it afterwards.
func (p *packed) writeEmpty(name string) error {
	head := bytes.Clone(p.head[:functions(p.head)])
	return os.WriteFile(name, append(append(head, make([]byte, 4+8)...), p.tail[4:]...), 0o600)
}

// unpack writes wazero's file.
func (p *packed) unpack(f *os.File, name string) error {
	to, err := os.Create(name)
	if err != nil {
		return err
	}
	begin := binary.LittleEndian.AppendUint64(bytes.Clone(p.head), uint64(p.size))
	_, err = io.Copy(to, io.MultiReader(bytes.NewReader(begin), io.NewSectionReader(f, p.begin, int64(p.size)), bytes.NewReader(p.tail)))
	if err = errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("unpack machine code: %w", err)
	}
	return nil
}
