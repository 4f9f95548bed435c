package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/pyodide/linmem"
)

// image is a module that has begun: what a first instance was after that, from which later
// ones are made, with its memory copied where they write to it. It lasts as long as the
// process, since nothing is known of a module that has begun in another one.
type image struct {
	file    *os.File // of the memory
	size    uint64
	globals []uint64
	dirs    []string // that were open from the start
	clock   time.Duration
	state   []byte   // of the language
	changed []uint32 // the pages that are not as the module begins
}

// images has the image of a module.
type images struct {
	mu    sync.Mutex
	image *image
	tried bool // to take one
}

// Begin makes an instance that has begun: boot calls the functions for that, which finds
// neither an environment nor arguments, and returns what of its state is the host's. It must
// depend on nothing else, open nothing, and not change the module's tables. Where the module has begun before, boot is not called. Nil: it
// has only its data.
func Begin(ctx context.Context, k *kernel.Process, c *Code, boot func(in *Instance) (state []byte, err error)) (in *Instance, state []byte, err error) {
	if in, err = instantiate(ctx, k, c); err != nil {
		return nil, nil, err
	}
	if boot != nil {
		in.Bare()
	}
	i, take := c.begun.get(boot != nil || c.data != nil)
	if i != nil && (boot == nil || slices.Equal(i.dirs, in.dirs)) {
		if err := in.restore(i); err != nil {
			in.Close()
			return nil, nil, err
		}
		return in, i.state, nil
	}
	if err := in.fill(); err != nil {
		in.Close()
		return nil, nil, err
	}
	if boot != nil {
		if state, err = boot(in); err != nil {
			return in, nil, err
		}
	}
	if take {
		if i, err := in.take(state); err == nil { // without it the next one begins as this has
			c.begun.set(i)
		}
	}
	return in, state, nil
}

// get returns the image, nil if there is none, and whether the caller, who would, is to take it.
func (s *images) get(would bool) (_ *image, take bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	take = would && !s.tried
	s.tried = s.tried || take
	return s.image, take
}

func (s *images) set(i *image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.image = i
}

func (in *Instance) restore(i *image) error {
	if err := in.grow(i.size); err != nil {
		return err
	}
	if err := in.memory.Map(i.file, 0, 0, i.size); err != nil {
		return err
	}
	in.image = i
	in.Advance(i.clock)
	return in.setGlobals(i.globals)
}

// grow makes the memory as large as size, in bytes.
func (in *Instance) grow(size uint64) error {
	if have := in.memory.Committed(); size > have {
		if _, ok := in.mod.Memory().Grow(uint32((size - have) / linmem.PageSize)); !ok {
			return fmt.Errorf("it begins with %d MiB of memory: %w", size>>20, abi.ENOMEM)
		}
	}
	return nil
}

func (in *Instance) globals() (values []uint64, err error) {
	for _, name := range in.code.globals {
		g := in.mod.ExportedGlobal(name)
		if g == nil {
			return nil, fmt.Errorf("the module has no global %s", name)
		}
		values = append(values, g.Get())
	}
	return values, nil
}

func (in *Instance) setGlobals(values []uint64) error {
	for n, name := range in.code.globals {
		g, ok := in.mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("the module has no mutable global %s", name)
		}
		g.Set(values[n])
	}
	return nil
}

// take makes an image. Pages that are zero take no room in its file.
func (in *Instance) take(state []byte) (_ *image, err error) {
	i := &image{size: in.memory.Committed(), dirs: in.dirs, clock: in.Clock(), state: state}
	if i.globals, err = in.globals(); err != nil {
		return nil, err
	}
	dir, err := in.code.loader.TempDir()
	if err != nil {
		return nil, err
	}
	if i.file, err = os.Create(filepath.Join(dir, "memory")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.file.Close())
		}
	}()
	if err := os.RemoveAll(dir); err != nil { // it goes with the process
		return nil, err
	}
	if err := i.file.Truncate(int64(i.size)); err != nil {
		return nil, err
	}
	var zeroes, begins [page]byte
	for n := uint32(0); uint64(n) < i.size/page; n++ {
		b, ok := in.Mem.Bytes(n*page, page)
		if !ok {
			return nil, abi.EFAULT
		}
		if !bytes.Equal(b, in.code.page(n, begins[:])) {
			i.changed = append(i.changed, n)
		}
		if !bytes.Equal(b, zeroes[:]) {
			if _, err := i.file.WriteAt(b, int64(n)*page); err != nil {
				return nil, err
			}
		}
	}
	return i, nil
}
