package snapshot

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"sync"
)

const (
	// word is the granularity of patches.
	word = 8
	// stretch is what is compared at once: most words of a page that differs do not.
	stretch = 8 * word
)

// runs yields the runs of words that differ in memory from layer, if that has them, or else
// from base, as for WriteDelta, each after its distance from the end of the one before.
func runs(memory, base []byte, where []Extent, layer Layer) iter.Seq2[uint64, []byte] {
	return func(yield func(gap uint64, run []byte) bool) {
		last := uint64(0)
		for at, was := range changed(memory, base, where, layer) {
			now := memory[at:][:len(was)]
			differs := func(i int) bool { return [word]byte(now[i:]) != [word]byte(was[i:]) }
			for i := 0; i < len(now); i += word {
				if i%stretch == 0 && i+stretch <= len(now) && bytes.Equal(now[i:i+stretch], was[i:i+stretch]) {
					i += stretch - word
					continue
				}
				begin := i
				for i < len(now) && differs(i) {
					i += word
				}
				if i == begin {
					continue
				}
				if !yield(at+uint64(begin)-last, now[begin:i]) {
					return
				}
				last = at + uint64(i)
			}
		}
	}
}

// WritePatch writes a patch: the runs of words that differ, each after its distance from the one
// before and its length, as varints. Of one that would have more than most bytes it leaves
// nothing in the file, and reports that it does not fit.
func WritePatch(f File, memory, base []byte, where []Extent, layer Layer, most int64, s State) (fits bool, err error) {
	s.Memory, s.Delta, s.Extents, s.Patch = uint64(len(memory)), true, nil, unknownPatch
	head, err := s.head()
	if err != nil {
		return false, fmt.Errorf("write snapshot: %w", err)
	}
	w := patchWriters.Get().(*bufio.Writer)
	defer patchWriters.Put(w)
	w.Reset(io.NewOffsetWriter(f, int64(len(head))))
	s.Patch = 0
	for gap, run := range runs(memory, base, where, layer) {
		b := binary.AppendUvarint(binary.AppendUvarint(w.AvailableBuffer(), gap), uint64(len(run)))
		if s.Patch += int64(len(b) + len(run)); s.Patch > most {
			return false, f.Truncate(0)
		}
		_, _ = w.Write(b) // Flush has the error
		_, _ = w.Write(run)
	}
	err = w.Flush()
	if err == nil {
		length := fmt.Appendf(nil, "%-*d", len(unknownDigits), s.Patch)
		_, err = f.WriteAt(bytes.Replace(head, []byte(unknownDigits), length, 1), 0) // before what is the owner's
	}
	if err != nil {
		return false, fmt.Errorf("write snapshot: %w", err)
	}
	return true, nil
}

// unknownPatch is a patch's length while it is written. It has the most digits; JSON ignores the
// spaces that are left of them.
const unknownPatch, unknownDigits = math.MaxInt64, "9223372036854775807"

// patchWriters have the largest buffers that are used for each call of a session.
var patchWriters = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// Apply changes memory, which has what is below the image, by its patch, if it is one.
func (i *Image) Apply(memory []byte) error {
	r := bufio.NewReaderSize(io.NewSectionReader(i.File, i.Base, i.Patch), 64<<10)
	for at := uint64(0); ; {
		gap, err := binary.ReadUvarint(r)
		if err == io.EOF {
			return nil
		}
		var length uint64
		if err == nil {
			length, err = binary.ReadUvarint(r)
		}
		if err == nil && (gap > uint64(len(memory))-at || length > uint64(len(memory))-at-gap) {
			err = errors.New("it is out of place")
		}
		if err == nil {
			_, err = io.ReadFull(r, memory[at+gap:][:length])
		}
		if err != nil {
			return fmt.Errorf("read a patch: its run after %d: %w", at, err)
		}
		at += gap + length
	}
}
