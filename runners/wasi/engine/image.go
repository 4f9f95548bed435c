package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/cbor"
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/pyodide/linmem"
)

// page is the unit in which memory is compared and saved, in bytes.
const page = 4 << 10

// rest is what an instance is besides its memory.
type rest struct {
	Size    uint64 // of the memory
	Globals []uint64
	Dirs    []string // that were open from the start
	Clock   time.Duration
	State   []byte // of the language
}

// image is a module that has begun: what a first instance was after that, from which later
// ones are made, with its memory copied where they write to it. It lasts as long as the
// process, since nothing is known of a module that has begun in another one.
type image struct {
	rest
	file    *os.File // of the memory
	changed []uint32 // the pages that are not as the module begins
}

// saved is what an instance is between two programs of a session: all that is not as the
// module begins, so that another process can go on.
type saved struct {
	Key    string // of the module
	Rest   rest
	Pages  []uint32 // numbers of pages, ascending
	Memory []byte   // their contents
}

// begun has the image of a module; nil: there is none yet. Whoever is the first tries to take it.
type begun struct {
	image atomic.Pointer[image]
	tried atomic.Bool
	spare atomic.Pointer[Instance] // one that has ended; nil: none
}

// Begin makes an instance that has begun: boot calls the functions for that, which finds
// neither an environment nor arguments, and returns what of its state is the host's. It must
// depend on nothing else, open nothing, and not change the module's tables. Where the module
// has begun before, boot is not called. Nil: it has only its data, and no function was called.
// When ctx ends, the module traps. The caller closes the instance.
func Begin(ctx context.Context, k *kernel.Process, c *Code, boot func(in *Instance) (state []byte, err error)) (in *Instance, state []byte, err error) {
	if in, err = instantiate(ctx, k, c); err != nil {
		return nil, nil, err
	}
	if boot != nil {
		in.Bare()
	}
	i := c.begun.image.Load()
	if fits := i != nil && (boot == nil || slices.Equal(i.Dirs, in.dirs)); fits {
		state, err = i.State, in.restore(i)
	} else {
		err = in.fill()
	}
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	if i == nil && (boot != nil || c.data != nil) {
		take := !c.begun.tried.Swap(true)
		defer func() {
			if take && err == nil {
				in.take(state)
			}
		}()
	}
	if boot != nil && in.image == nil {
		state, err = boot(in)
	}
	return in, state, err
}

func (in *Instance) restore(i *image) error {
	if err := in.become(&i.rest); err != nil {
		return err
	}
	if in.image == i {
		return nil // it is reused
	}
	in.image = i
	return in.memory.Map(i.file, 0, 0, i.Size)
}

// rest returns what the instance is besides its memory.
func (in *Instance) rest(state []byte) (r rest, err error) {
	r = rest{Size: in.memory.Committed(), Dirs: in.dirs, Clock: in.Clock(), State: state}
	if r.Globals = in.globals(); len(r.Globals) != len(in.code.globals) {
		return r, fmt.Errorf("the module has not all of the globals %s", in.code.globals)
	}
	return r, nil
}

// globals returns the values of the module's mutable globals; setGlobals sets them, and reports
// whether there are so many.
func (in *Instance) globals() (values []uint64) {
	for _, name := range in.code.globals {
		if g := in.mod.ExportedGlobal(name); g != nil {
			values = append(values, g.Get())
		}
	}
	return values
}

func (in *Instance) setGlobals(values []uint64) bool {
	for n, name := range in.code.globals {
		g, ok := in.mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok || n >= len(values) {
			return false
		}
		g.Set(values[n])
	}
	return true
}

// become makes the instance what rest has returned of another, but for the memory's contents.
func (in *Instance) become(r *rest) error {
	if size := in.memory.Committed(); r.Size > size {
		if _, ok := in.mod.Memory().Grow(uint32((r.Size - size) / linmem.PageSize)); !ok {
			return fmt.Errorf("it begins with %d MiB of memory: %w", r.Size>>20, abi.ENOMEM)
		}
	}
	in.Advance(r.Clock)
	if !in.setGlobals(r.Globals) {
		return fmt.Errorf("the module has other globals than %s", in.code.globals)
	}
	return nil
}

// take makes the image of what has begun, if it can: without it the next one begins as this
// has. Pages that are zero take no room in its file.
func (in *Instance) take(state []byte) {
	r, err := in.rest(state)
	i := &image{rest: r}
	dir := ""
	if err == nil {
		dir, err = in.code.loader.TempDir()
	}
	if err == nil {
		i.file, err = os.Create(filepath.Join(dir, "memory"))
	}
	if err != nil {
		return
	}
	var zeroes, begins [page]byte
	for n := uint32(0); uint64(n) < i.Size/page; n++ {
		b, _ := in.Mem.Bytes(n*page, page)
		if !bytes.Equal(b, in.code.page(n, begins[:])) {
			i.changed = append(i.changed, n)
		}
		if !bytes.Equal(b, zeroes[:]) && err == nil {
			_, err = i.file.WriteAt(b, int64(n)*page)
		}
	}
	if errors.Join(err, os.RemoveAll(dir), i.file.Truncate(int64(i.Size))) != nil { // the file goes with the process
		_ = i.file.Close() // it is of no use
		return
	}
	in.code.begun.image.Store(i)
}

// ErrLost is the error of Resume for what another module or another machine has left.
var ErrLost = errors.New("the interpreter is another one now")

// Save writes what the instance is to a file, for Resume. What it has open is not kept but for
// the directories that are open from the start. Only Linux can.
func (in *Instance) Save(file string, state []byte) error {
	r, err := in.rest(state)
	if err != nil {
		return err
	}
	s := saved{Key: in.code.sessionKey(), Rest: r}
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
	return errors.Join(cbor.Write(f, &s), f.Close())
}

// sessionKey changes whenever what Save writes means something else.
func (c *Code) sessionKey() string { return c.key + " session 3" }

// Resume makes an instance of what Save has written, and returns the language's state. The
// file may be forged.
func Resume(ctx context.Context, k *kernel.Process, c *Code, file string) (_ *Instance, state []byte, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var s saved
	if err := cbor.Unmarshal(text, &s); err != nil {
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
	return in, s.Rest.State, nil
}

func (in *Instance) resume(s *saved) error {
	c, size := in.code, s.Rest.Size
	if s.Key != c.sessionKey() || !slices.Equal(s.Rest.Dirs, in.dirs) || len(s.Memory) != page*len(s.Pages) {
		return ErrLost
	}
	var err error
	if i := c.begun.image.Load(); i != nil && i.Size <= size {
		err = in.restore(i)
		var begins [page]byte
		for _, n := range i.changed {
			in.Mem.Put(n*page, c.page(n, begins[:]))
		}
	} else {
		err = in.fill()
	}
	if err == nil {
		err = in.become(&s.Rest)
	}
	for i, n := range s.Pages {
		if err == nil && (uint64(n) >= size/page || !in.Mem.Put(n*page, s.Memory[i*page:(i+1)*page])) {
			err = ErrLost
		}
	}
	in.Bare()
	return err
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
