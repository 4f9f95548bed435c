package engine

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
)

// page is the unit in which memory is compared and saved, in bytes.
const page = 4 << 10

// saved is what an instance is between two programs of a session: all that is not as the
// module begins, so that another process can go on.
type saved struct {
	Key     string // of the module
	Size    uint64
	Globals []uint64
	Dirs    []string
	Clock   time.Duration
	State   []byte   // of the language
	Pages   []uint32 // numbers of pages, ascending
	Memory  []byte   // their contents
}

// ErrLost is the error of Resume for what another module or another machine has left.
var ErrLost = errors.New("the interpreter is another one now")

// Save writes what the instance is to a file, for Resume. What it has open is not kept but for
// the directories that are open from the start. Only Linux can.
func (in *Instance) Save(file string, state []byte) error {
	s := saved{Key: in.code.key, Size: in.memory.Committed(), Dirs: in.dirs, Clock: in.Clock(), State: state}
	var err error
	if s.Globals, err = in.globals(); err != nil {
		return err
	}
	written, err := in.memory.Written()
	if err != nil {
		return err
	}
	var pages []uint32
	if in.image != nil {
		pages = slices.Clone(in.image.changed)
	}
	for _, r := range written {
		for at := r.Offset / page; at < (r.Offset+r.Length)/page; at++ {
			pages = append(pages, uint32(at))
		}
	}
	slices.Sort(pages)
	var begins [page]byte
	for _, n := range slices.Compact(pages) {
		if b, _ := in.Mem.Bytes(n*page, page); !bytes.Equal(b, in.code.page(n, begins[:])) {
			s.Pages, s.Memory = append(s.Pages, n), append(s.Memory, b...)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(f).Encode(&s), f.Close())
}

// Resume makes an instance of what Save has written, and returns the language's state. The
// file may be forged.
func Resume(ctx context.Context, k *kernel.Process, c *Code, file string) (_ *Instance, state []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var s saved
	if err := gob.NewDecoder(f).Decode(&s); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", file, err)
	}
	in, err := instantiate(ctx, k, c)
	if err != nil {
		return nil, nil, err
	}
	if err := in.resume(&s); err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, s.State, nil
}

func (in *Instance) resume(s *saved) error {
	c := in.code
	if s.Key != c.key || !slices.Equal(s.Dirs, in.dirs) || len(s.Globals) != len(c.globals) || len(s.Memory) != page*len(s.Pages) {
		return ErrLost
	}
	if i, _ := c.begun.get(false); i != nil && i.size <= s.Size {
		if err := in.restore(i); err != nil {
			return err
		}
		var begins [page]byte
		for _, n := range i.changed {
			in.Mem.Put(n*page, c.page(n, begins[:]))
		}
	} else if err := in.fill(); err != nil {
		return err
	}
	if err := in.grow(s.Size); err != nil {
		return err
	}
	for i, n := range s.Pages {
		if uint64(n) >= s.Size/page || !in.Mem.Put(n*page, s.Memory[i*page:(i+1)*page]) {
			return ErrLost
		}
	}
	in.Bare()
	in.Advance(s.Clock)
	return in.setGlobals(s.Globals)
}

// page returns what a page of memory is when the module begins, in b.
func (c *Code) page(n uint32, b []byte) []byte {
	from, to := uint64(n)*page, uint64(n+1)*page
	clear(b)
	end := func(i int) uint64 { return uint64(c.data[i].Addr) + uint64(len(c.data[i].Bytes)) }
	for i := sort.Search(len(c.data), func(i int) bool { return end(i) > from }); i < len(c.data) && uint64(c.data[i].Addr) < to; i++ {
		d := c.data[i]
		if at := uint64(d.Addr); at < from {
			copy(b, d.Bytes[from-at:])
		} else {
			copy(b[at-from:], d.Bytes)
		}
	}
	return b
}

// fill writes what the module begins with.
func (in *Instance) fill() error {
	for _, d := range in.code.data {
		if !in.Mem.Put(d.Addr, d.Bytes) {
			return abi.EFAULT
		}
	}
	return nil
}
