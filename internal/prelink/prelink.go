// Package prelink copies executables for Linux that are position-independent, with their
// relocations already applied.
//
// The dynamic loader moves such an executable to another address at each start: for Deno it
// writes 157,000 pointers into 2.4 MB of private memory, a sixth of the time that a hello
// takes. A copy is loaded at one address and has these pointers in the file. Libraries, heap
// and stacks are elsewhere at each start, as before. The address is chosen at random when the
// copy is made, as prelink(8) does: RATIONALE.md says what that means for safety.
//
// The formats are those of the System V ABI, of its supplement for AMD64, and of the GNU
// extensions of the dynamic section.
package prelink

import (
	"crypto/rand"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// ErrUnsupported is the error for an executable that can only be loaded as it is.
var ErrUnsupported = errors.New("its relocations cannot be applied ahead of time")

const (
	// lowest and randomBits are where Linux puts position-independent executables on amd64.
	lowest     = 0x555555554000
	randomBits = 28
	pageBits   = 12
	// maxChanged bounds what is changed of an executable, in bytes.
	maxChanged = 64 << 20
	// writeSize is how much is written at a time: what is written at once the kernel keeps in
	// large folios, which a start maps with fewer steps. As copy_file_range leaves it, Deno takes
	// 21.4 ms, in parts of 2 MiB 17.2.
	writeSize = 2 << 20
)

// Base returns a random address for an executable, one that Linux could have chosen.
func Base() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return lowest + binary.LittleEndian.Uint64(b[:])%(1<<randomBits)<<pageBits
}

// Copy writes a copy of an executable that is loaded at base to an empty file. The error is
// ErrUnsupported if it is not one for Linux on amd64 that is position-independent and all
// linked at its start (BIND_NOW), or has anything in it that is not known here.
func Copy(to, from *os.File, base uint64) error {
	f, err := elf.NewFile(from)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	e := executable{File: f, from: from, base: base}
	if err := e.relocate(); err != nil {
		return err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, writeSize)); err != nil {
		return err
	}
	for _, p := range slices.Concat(e.writable, e.tables) {
		if _, err := to.WriteAt(p.data, int64(p.offset)); err != nil {
			return err
		}
	}
	return nil
}

// ReadOnly returns where a copy has what it only reads, as addresses of pages and sizes in bytes:
// nil for any other file.
func ReadOnly(name string) (ranges [][2]uintptr) {
	f, err := elf.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	for _, p := range f.Progs {
		if f.Type == elf.ET_EXEC && p.Type == elf.PT_LOAD && p.Flags&elf.PF_W == 0 {
			begin := p.Vaddr &^ (1<<pageBits - 1)
			ranges = append(ranges, [2]uintptr{uintptr(begin), uintptr(p.Vaddr + p.Filesz - begin)})
		}
	}
	return ranges
}

// executable is an executable of which some parts are changed in memory.
type executable struct {
	*elf.File
	from     io.ReaderAt
	base     uint64
	writable []part // segments
	tables   []part // of what is only read
	size     uint64 // of all parts
}

// part is a part of the file.
type part struct {
	offset, address uint64 // in the file and in memory
	data            []byte
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

func (e *executable) relocate() error {
	switch {
	case e.Class != elf.ELFCLASS64 || e.Data != elf.ELFDATA2LSB || e.Machine != elf.EM_X86_64:
		return unsupported("it is for %v, %v", e.Machine, e.Class)
	case e.Type != elf.ET_DYN || e.segment(elf.PT_INTERP) == nil || e.segment(elf.PT_DYNAMIC) == nil:
		return unsupported("it is no program for the dynamic loader that may be anywhere")
	}
	for _, p := range e.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Align > 1 && e.base%p.Align != 0 {
			return unsupported("a segment begins at a multiple of %d", p.Align)
		}
		if p.Flags&elf.PF_W != 0 {
			if err := e.read(&e.writable, part{offset: p.Off, address: p.Vaddr}, p.Filesz); err != nil {
				return err
			}
		}
	}
	dynamic, err := e.dynamic()
	if err != nil {
		return err
	}
	if err := e.relocations(dynamic); err != nil {
		return err
	}
	if err := e.symbols(dynamic[elf.DT_SYMTAB].value); err != nil {
		return err
	}
	return e.headers()
}

func (e *executable) segment(t elf.ProgType) *elf.Prog {
	if i := slices.IndexFunc(e.Progs, func(p *elf.Prog) bool { return p.Type == t }); i >= 0 {
		return e.Progs[i]
	}
	return nil
}

// read reads a part of the file into one of the lists.
func (e *executable) read(list *[]part, p part, size uint64) error {
	if size > maxChanged-e.size {
		return unsupported("more than %d bytes change", maxChanged)
	}
	e.size += size
	p.data = make([]byte, size)
	if _, err := e.from.ReadAt(p.data, int64(p.offset)); err != nil {
		return unsupported("read %d bytes at %#x: %v", size, p.offset, err)
	}
	*list = append(*list, p)
	return nil
}

// within reports whether size bytes at an address are in a range of n bytes at another.
func within(address, size, start, n uint64) bool {
	return address >= start && address-start <= n && size <= n-(address-start)
}

// at returns what is written at an address.
func (e *executable) at(address, size uint64) ([]byte, error) {
	for _, p := range e.writable {
		if within(address, size, p.address, uint64(len(p.data))) {
			return p.data[address-p.address:][:size], nil
		}
	}
	return nil, unsupported("no writable segment has %d bytes at %#x", size, address)
}

// table returns a table at an address, which no other table shares.
func (e *executable) table(address, size uint64) ([]byte, error) {
	for _, p := range e.tables {
		if address < p.address+uint64(len(p.data)) && p.address < address+size {
			return nil, unsupported("two tables share what is at %#x", address)
		}
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W == 0 && within(address, size, p.Vaddr, p.Filesz) {
			if err := e.read(&e.tables, part{p.Off + (address - p.Vaddr), address, nil}, size); err != nil {
				return nil, err
			}
			return e.tables[len(e.tables)-1].data, nil
		}
	}
	return nil, unsupported("no segment that is only read has %d bytes at %#x", size, address)
}

func get(word []byte) uint64    { return binary.LittleEndian.Uint64(word) }
func put(word []byte, v uint64) { binary.LittleEndian.PutUint64(word, v) }
func add(word []byte, n uint64) { put(word, get(word)+n) }
