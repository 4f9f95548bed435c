// Package snapshot is the file format of a suspended interpreter: its memory, and the little
// state outside of it.
//
//	0        8         12          header+…          64 KiB boundary
//	┌────────┬─────────┬───────────┬───────────┬─────┬────────────────────────┐
//	│ magic  │ length  │ State, as JSON        │  0  │ memory, zeros as holes │
//	└────────┴─────────┴───────────┴───────────┴─────┴────────────────────────┘
//
// The memory is stored at its own offsets, so that its extents can be mapped
// copy-on-write over a fresh linear memory; nothing is read until it is used.
// A delta has only the pages that differ from those of another snapshot, over which
// it is mapped, one extent directly after the other. A patch has only the words that
// differ, which are copied; it follows the state without a gap.
// The package knows the format only: package pyodide takes and restores
// snapshots, and its store vouches for the bytes.
//
// # Limits
//
// A mapped file must not be truncated (SIGBUS): files are written once, under
// another name, and never changed.
package snapshot

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
)

const (
	magic = "PYSNAP01"
	// align is a multiple of every page size that we run on.
	align = 64 << 10
	// page is the granularity of holes.
	page = 4096
	// maxState bounds the JSON part, in bytes.
	maxState = 16 << 20
	// maxMemory is what a 32-bit guest can have.
	maxMemory = 4 << 30
	// coalesce is how many zero pages are rather stored than left out: each
	// extent costs a system call at every restore. A delta is rarely restored.
	coalesce      = 16
	coalesceDelta = 2
)

// Extent is a range of memory that holds something, in bytes.
type Extent struct {
	Offset uint64 `json:"offset"`
	Length uint64 `json:"length"`
}

// End is the offset of the byte after the range.
func (e Extent) End() uint64 { return e.Offset + e.Length }

// State is what there is beside the memory.
type State struct {
	Memory  uint64            `json:"memory"` // size in bytes
	Extents []Extent          `json:"extents"`
	Delta   bool              `json:"delta,omitempty"`
	Patch   int64             `json:"patch,omitempty"` // its length in bytes; a delta without extents
	Globals map[string]uint64 `json:"globals"`         // by export name
	Tables  map[string]uint32 `json:"tables"`          // sizes, by the name of the export that tells them
	Owner   json.RawMessage   `json:"owner"`           // the caller's own
}

// File is what a snapshot is written to: an [os.File], or what becomes one.
type File interface {
	io.WriterAt
	Truncate(size int64) error
}

// Write writes a snapshot of memory, with s but for its Memory and Extents. The
// file is new and empty; it becomes sparse.
func Write(f File, memory []byte, s State) error {
	s.Memory, s.Delta = uint64(len(memory)), false
	s.Extents = differing(memory, nil, []Extent{{0, s.Memory}}, Layer{}, coalesce)
	return store(f, memory, s)
}

// Layer is a delta that lies between a base and a patch. Contents has what its
// extents hold, one after the other.
type Layer struct {
	Extents  []Extent
	Contents []byte
}

// WriteDelta writes what differs in memory from base, which is shorter or as long; beyond
// its end are zeros. Only the ranges in where can differ, which are in ascending order. It
// returns the state that it wrote.
func WriteDelta(f File, memory, base []byte, where []Extent, s State) (State, error) {
	s.Memory, s.Delta, s.Patch = uint64(len(memory)), true, 0
	s.Extents = differing(memory, base, where, Layer{}, coalesceDelta)
	return s, store(f, memory, s)
}

// head returns what is before the memory or the patch.
func (s *State) head() ([]byte, error) {
	state, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if len(state) > maxState {
		return nil, fmt.Errorf("a state of %d bytes, %d are allowed", len(state), maxState)
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(state)))
	return append(head, state...), nil
}

func store(f File, memory []byte, s State) error {
	head, err := s.head()
	if err == nil {
		_, err = f.WriteAt(head, 0)
	}
	base := s.imageOffset(len(head))
	if err == nil {
		err = f.Truncate(base + s.imageSize())
	}
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	if s.Delta { // of many small pieces
		w := bufio.NewWriterSize(io.NewOffsetWriter(f, base), 256<<10)
		for _, e := range s.Extents {
			_, _ = w.Write(memory[e.Offset:e.End()])
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
		return nil
	}
	for e, at := range s.Stored() {
		if _, err := f.WriteAt(memory[e.Offset:e.End()], base+at); err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
	}
	return nil
}

// Stored yields the extents with their offsets in the image.
func (s *State) Stored() iter.Seq2[Extent, int64] {
	return func(yield func(Extent, int64) bool) {
		at := int64(0)
		for _, e := range s.Extents {
			if !s.Delta {
				at = int64(e.Offset)
			}
			if !yield(e, at) {
				return
			}
			at += int64(e.Length)
		}
	}
}

// imageSize returns the length of the image in the file.
func (s *State) imageSize() int64 {
	if !s.Delta {
		return int64(s.Memory)
	}
	size := s.Patch
	for _, e := range s.Extents {
		size += int64(e.Length)
	}
	return size
}

// differing joins the pages that changed yields over gaps of fewer than gap pages.
func differing(memory, base []byte, where []Extent, layer Layer, gap uint64) (out []Extent) {
	for at, was := range changed(memory, base, where, layer) {
		end := at + uint64(len(was))
		if n := len(out); n > 0 && at-out[n-1].End() < gap*page {
			out[n-1].Length = end - out[n-1].Offset
		} else {
			out = append(out, Extent{at, end - at})
		}
	}
	return out
}

// changed yields the pages in the ranges where that are not as in the layer or, where that
// has nothing, in base, and what they are there.
func changed(memory, base []byte, where []Extent, layer Layer) iter.Seq2[uint64, []byte] {
	return func(yield func(at uint64, was []byte) bool) {
		var zero [page]byte
		at := uint64(0)
		over, contents := layer.Extents, layer.Contents
		for _, w := range where {
			for at = max(at, w.Offset/page*page); at < min(w.End(), uint64(len(memory))); at += page {
				end := min(at+page, uint64(len(memory)))
				was := zero[:end-at]
				if end <= uint64(len(base)) {
					was = base[at:end]
				}
				for len(over) > 0 && over[0].End() <= at {
					contents, over = contents[over[0].Length:], over[1:]
				}
				if len(over) > 0 && over[0].Offset <= at {
					was = contents[at-over[0].Offset:][:end-at]
				}
				if !bytes.Equal(memory[at:end], was) && !yield(at, was) {
					return
				}
			}
		}
	}
}

// ImageOffset returns where the memory begins in the file of a snapshot.
func (s *State) ImageOffset() (int64, error) {
	head, err := s.head()
	return s.imageOffset(len(head)), err
}

func (s *State) imageOffset(head int) int64 {
	if s.Delta && len(s.Extents) == 0 { // nothing is mapped
		return int64(head)
	}
	return (int64(head) + align - 1) / align * align
}

// Image is an open snapshot, from which any number of memories can be made. It
// is safe for concurrent use.
type Image struct {
	State
	File *os.File
	Base int64 // where the memory begins in File
}

// Open opens a snapshot. What it claims is checked against the file's size.
func Open(path string) (*Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	image, err := read(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open snapshot %s: %w", path, err)
	}
	return image, nil
}

func read(f *os.File) (*Image, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	state, base, err := readState(f, info.Size())
	if err != nil {
		return nil, err
	}
	return &Image{State: *state, File: f, Base: base}, nil
}

// readState reads and checks the head of a file of the given size.
func readState(r io.ReaderAt, size int64) (*State, int64, error) {
	head := make([]byte, len(magic)+4)
	if _, err := r.ReadAt(head, 0); err != nil {
		return nil, 0, fmt.Errorf("its head: %w", err)
	}
	if string(head[:len(magic)]) != magic {
		return nil, 0, fmt.Errorf("not a snapshot")
	}
	n := binary.LittleEndian.Uint32(head[len(magic):])
	if n > maxState || int64(n) > size {
		return nil, 0, fmt.Errorf("a state of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, int64(len(head))); err != nil {
		return nil, 0, fmt.Errorf("its state: %w", err)
	}
	s := new(State)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, 0, fmt.Errorf("its state: %w", err)
	}
	base := s.imageOffset(len(head) + int(n))
	return s, base, s.check(size - base)
}

// check compares the state with the number of bytes that the image has.
func (s *State) check(image int64) error {
	if s.Memory > maxMemory {
		return fmt.Errorf("%d bytes of memory", s.Memory)
	}
	if s.Patch < 0 || s.Patch > 0 && (!s.Delta || len(s.Extents) > 0) {
		return fmt.Errorf("a patch of %d bytes", s.Patch)
	}
	end := uint64(0)
	for _, e := range s.Extents {
		if e.Offset < end || e.Offset%page != 0 || e.Length == 0 || e.Length > s.Memory || e.Offset > s.Memory-e.Length {
			return fmt.Errorf("extent %d+%d is out of place", e.Offset, e.Length)
		}
		end = e.End()
	}
	if want := s.imageSize(); want != image {
		return fmt.Errorf("an image of %d bytes in %d bytes of file", want, image)
	}
	return nil
}

// Close closes the file. Memories that were mapped from it stay good.
func (i *Image) Close() error { return i.File.Close() }
