package pyodide

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"coderunner/pyodide/linmem"
	"coderunner/pyodide/snapshot"
)

// A frozen interpreter is one that has booted and not run a program yet, in a
// file. Making another of it costs a thousandth of booting.
//
// What is recorded: the memory, the mutable globals, the sizes of the tables,
// the guest's clock. What is not, since a fresh process has the same: the
// files, the three standard descriptors, the working folder. The program's own
// surroundings (environment, arguments, random numbers) come with the request,
// in guest/coderunner.py.

// owner is what the interpreter itself has to remember.
type owner struct {
	Main  uint32        `json:"main"`
	Clock time.Duration `json:"clock"`
}

// loadSnapshot freezes a booted interpreter, or takes it from the store. There
// is none without a store.
func (r *Runtime) loadSnapshot(ctx context.Context) error {
	if r.config.Store == nil {
		return nil
	}
	path, err := r.config.Store.File(ctx, "snapshot", r.snapshotKey(), func(ctx context.Context, w io.Writer) error {
		f, ok := w.(*os.File)
		if !ok {
			return errors.New("the store gives no file to write to")
		}
		in, err := r.cold(ctx, Options{})
		if err != nil {
			return err
		}
		return errors.Join(in.freeze(f), in.Close())
	})
	if err != nil {
		return fmt.Errorf("snapshot CPython: %w", err)
	}
	r.image, err = snapshot.Open(path)
	return err
}

// snapshotKey names everything that a snapshot depends on. The zone is part of
// it because CPython's time module keeps what it was at the start.
func (r *Runtime) snapshotKey() string {
	return fmt.Sprintf("format 1 module %s stdlib %s guest %x zone %s page %d",
		r.module.digest, r.stdlibKey, guestDigest(), zoneKey(time.Local), os.Getpagesize())
}

// zoneKey tells time zones apart as far as CPython remembers them.
func zoneKey(l *time.Location) string {
	year := time.Now().Year()
	return time.Date(year, 1, 1, 0, 0, 0, 0, l).Format("MST-0700") + time.Date(year, 7, 1, 0, 0, 0, 0, l).Format("MST-0700")
}

// freeze writes the interpreter, in which nothing runs, to a new file.
func (in *Interp) freeze(f *os.File) error {
	if n := in.proc.OpenFiles(); n != 3 {
		return fmt.Errorf("freeze: %d descriptors are open, want the standard three", n)
	}
	s := snapshot.State{Globals: map[string]uint64{}, Tables: map[string]uint32{}}
	for _, name := range in.rt.module.info.Globals {
		g, err := in.global(name)
		if err != nil {
			return fmt.Errorf("freeze: %w", err)
		}
		s.Globals[name] = g.Get()
	}
	g := in.guest(context.Background())
	for _, t := range in.rt.module.info.Tables {
		n, err := g.call(t.Size)
		if err != nil {
			return fmt.Errorf("freeze: %w", err)
		}
		s.Tables[t.Size] = n
	}
	var err error
	if s.Owner, err = json.Marshal(owner{Main: in.main, Clock: in.proc.Monotonic()}); err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	mem := in.mod.Memory()
	memory, ok := mem.Read(0, mem.Size())
	if !ok {
		return errOutOfRange
	}
	return snapshot.Write(f, memory, s)
}

// thaw makes an interpreter of the runtime's snapshot.
func (r *Runtime) thaw(ctx context.Context, o Options) (in *Interp, err error) {
	var own owner
	if err := json.Unmarshal(r.image.Owner, &own); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	if in, err = r.instantiate(ctx, o, own.Clock); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("restore: %w", err), in.Close())
		}
	}()
	mem := in.mod.Memory()
	if have := uint64(mem.Size()); have < r.image.Memory {
		if _, ok := mem.Grow(uint32((r.image.Memory - have) / linmem.PageSize)); !ok {
			return in, fmt.Errorf("the memory limit of %d bytes is less than CPython itself takes (%d)", o.memory(), r.image.Memory)
		}
	}
	for _, e := range r.image.Extents {
		if err := in.memory.Map(r.image.File, r.image.Base+int64(e.Offset), e.Offset, e.Length); err != nil {
			return in, err
		}
	}
	for name, v := range r.image.Globals {
		g, err := in.global(name)
		if err != nil {
			return in, err
		}
		g.Set(v)
	}
	if err := in.growTables(ctx); err != nil {
		return in, err
	}
	in.main, in.initialized = own.Main, true
	return in, in.findSignals()
}

// growTables brings the tables to their recorded sizes. The call table is no
// larger than the module makes it as long as no library was loaded.
func (in *Interp) growTables(ctx context.Context) error {
	g := in.guest(ctx)
	for _, t := range in.rt.module.info.Tables {
		want, ok := in.rt.image.Tables[t.Size]
		if !ok || want < t.Min {
			return fmt.Errorf("the snapshot has no size for table %s", t.Export)
		}
		if want > t.Min {
			if _, err := g.call(t.Grow, want-t.Min); err != nil {
				return err
			}
		}
	}
	return nil
}

// guestDigest names the Python half.
func guestDigest() [sha256.Size]byte {
	h := sha256.New()
	for _, m := range guestModules {
		b, err := guestFiles.ReadFile(m.file)
		if err != nil {
			panic(err) // it is embedded
		}
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
