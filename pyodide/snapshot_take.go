package pyodide

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/snapshot"
)

// Snapshot returns a snapshot of an interpreter that has imported modules ("a:b"
// is "from a import b") out of the given mounts: a new one, or the store's. The caller closes the result when no
// interpreter is being made of it.
func (r *Runtime) Snapshot(ctx context.Context, modules []string, mounts []Mount) (*Snapshot, error) {
	return r.SnapshotBy(ctx, modules, mounts, nil)
}

// SnapshotBy is Snapshot with a new one written by take, as by TakeSnapshot, unless that is nil.
func (r *Runtime) SnapshotBy(ctx context.Context, modules []string, mounts []Mount, take func(context.Context, *os.File) error) (*Snapshot, error) {
	if r.base == nil {
		return nil, errNoStore
	}
	if take == nil {
		take = func(ctx context.Context, f *os.File) error { return r.TakeSnapshot(ctx, f, modules, mounts) }
	}
	return r.storedSnapshot(ctx, mountsKey(r.SnapshotKey(), modules, mounts), mounts, take)
}

// FindSnapshot returns the store's snapshot, or nil if there is none.
func (r *Runtime) FindSnapshot(ctx context.Context, modules []string, mounts []Mount) (*Snapshot, error) {
	if r.base == nil {
		return nil, nil
	}
	missing := errors.New("not there")
	z, err := r.storedSnapshot(ctx, mountsKey(r.SnapshotKey(), modules, mounts), mounts, func(context.Context, *os.File) error { return missing })
	if errors.Is(err, missing) || errors.Is(err, ErrNotPrepared) {
		return nil, nil
	}
	return z, err
}

func mountsKey(key string, modules []string, mounts []Mount) string {
	for _, m := range mounts {
		if m.Derived {
			continue
		}
		key += fmt.Sprintf(" mount %s %s", m.Dir, m.Key)
	}
	return fmt.Sprintf("%s modules %q", key, modules)
}

// loadSnapshot makes the snapshot of a booted interpreter, or takes it from the
// store. There is none without a store.
func (r *Runtime) loadSnapshot(ctx context.Context) (err error) {
	if r.config.Store == nil {
		return nil
	}
	r.base, err = r.storedSnapshot(ctx, r.SnapshotKey(), nil, func(ctx context.Context, f *os.File) error {
		return r.TakeSnapshot(ctx, f, nil, nil)
	})
	if err != nil {
		return fmt.Errorf("snapshot CPython: %w", err)
	}
	return nil
}

// Memory returns the bytes of linear memory that an interpreter starts with, of a
// snapshot or, for nil, the plain one.
func (r *Runtime) Memory(z *Snapshot) int64 {
	if z == nil {
		z = r.base
	}
	return z.Memory()
}

// SnapshotKey returns a key of all that a snapshot depends on except the imports.
// The time zone is part of it because CPython's time module reads it once.
func (r *Runtime) SnapshotKey() string {
	return fmt.Sprintf("format 4 link %s lower %v module %s stdlib %s guest %x stack %d zone %s page %d",
		linkKey(), rewrite.SideVersion, r.module.digest, r.stdlibKey, guestDigest(), maxStack, zoneKey(time.Local), os.Getpagesize())
}

// guestDigest returns a digest of the Python half and of the variables it boots with.
var guestDigest = sync.OnceValue(func() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q", bootEnv)
	files := []string{warmUpFile}
	for _, m := range guestModules {
		files = append(files, m.file)
	}
	for _, file := range files {
		b, err := guestFiles.ReadFile(file)
		if err != nil {
			panic(err) // it is embedded
		}
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
})

// storedSnapshot opens the snapshot for key, calling make if there is none.
func (r *Runtime) storedSnapshot(ctx context.Context, key string, mounts []Mount, make func(context.Context, *os.File) error) (*Snapshot, error) {
	path, err := r.config.Store.File(ctx, "snapshot", key, func(ctx context.Context, w io.Writer) error {
		f, ok := w.(*os.File)
		if !ok {
			return errors.New("the store does not write to a file")
		}
		return make(ctx, f)
	})
	if err != nil {
		return nil, err
	}
	return r.openSnapshot(path, mounts)
}

// openSnapshot opens the snapshot in a file.
func (r *Runtime) openSnapshot(path string, mounts []Mount) (*Snapshot, error) {
	image, err := snapshot.Open(path)
	if err != nil {
		return nil, err
	}
	z := &Snapshot{drop: r.pool.drop, image: image, mounts: mounts}
	z.contents = sync.OnceValues(z.mapContents)
	if err := json.Unmarshal(image.Owner, &z.owner); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), image.Close())
	}
	return z, nil
}

// Time limits to boot, and to import a program's modules.
const (
	maxBoot   = 2 * time.Minute
	maxImport = 2 * time.Minute // three seconds of work, on a busy machine
)

// TakeSnapshot makes an interpreter without input and environment, lets it import modules and
// writes it to f.
func (r *Runtime) TakeSnapshot(ctx context.Context, f *os.File, modules []string, mounts []Mount) error {
	limit := maxImport
	if modules == nil {
		limit = maxBoot
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: it takes longer than %v", ErrUnfit, limit))
	defer cancel()
	var output bytes.Buffer
	// The instance is not taken from the pool: it is used only once.
	in, err := (*Interp)(nil), error(nil)
	if o := (Options{Memory: 1 << 30, Stdout: &output, Stderr: &output}); r.base == nil {
		in, err = r.boot(ctx, o)
	} else {
		in, err = r.fromSnapshot(ctx, r.base, o, r.restore)
	}
	if err != nil {
		return err
	}
	defer in.Close()
	stop := context.AfterFunc(ctx, in.signals.stop)
	defer stop()
	for _, m := range mounts {
		if err := in.Mount(m.Dir, m.Tree); err != nil {
			return err
		}
	}
	before, err := in.fs.State("")
	if err != nil {
		return err
	}
	problem, err := in.importAll(ctx, modules, r.base == nil)
	if err != nil {
		return fmt.Errorf("import %q: %w", modules, errors.Join(err, context.Cause(ctx)))
	}
	if in.linking.lacked != nil { // a package that does without it would do so ever after
		return fmt.Errorf("import %q: %w: %w", modules, ErrUnfit, in.linking.lacked)
	}
	files, err := in.madeSince(before)
	n := in.proc.OpenFiles()
	switch {
	case problem != "":
	case err != nil:
		problem = err.Error()
	case n != 3:
		problem = fmt.Sprintf("%d descriptors are open", n)
	case output.Len() > 0:
		problem = fmt.Sprintf("output: %.80q", output.String())
	}
	if problem != "" {
		return fmt.Errorf("import %q: %w: %s", modules, ErrUnfit, problem)
	}
	return in.write(f, files, nil)
}

// importAll imports modules, and returns why there can be no snapshot of them, or "".
func (in *Interp) importAll(ctx context.Context, modules []string, base bool) (problem string, err error) {
	if modules == nil {
		modules = []string{}
	}
	request, err := json.Marshal(modules)
	if err != nil {
		return "", err
	}
	problem, err = in.importAhead(ctx, string(request))
	if err != nil {
		return "", err
	}
	if left := in.endThreads(ctx, false); problem == "" && left > 0 {
		problem = fmt.Sprintf("%d threads run", left)
	}
	if problem != "" {
		return problem, nil
	}
	return "", in.warmUp(ctx, base)
}

// Bounds on the files that imports leave behind, such as the empty directory of matplotlib.
const (
	maxLeftFiles = 100
	maxLeftBytes = 256 << 10
)

// madeSince returns the files that were made since State returned before.
func (in *Interp) madeSince(before []memfs.Saved) ([]memfs.Saved, error) {
	known := map[string]bool{}
	for _, s := range before {
		known[s.Path] = true
	}
	files, err := in.fs.State("")
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(s memfs.Saved) bool { return known[s.Path] })
	size := 0
	for _, s := range files {
		if name, ok := strings.CutPrefix(s.Path, Home+"/"); ok && name[0] != '.' {
			return nil, fmt.Errorf("the file %s was made where the program's are", s.Path)
		}
		size += len(s.Data)
	}
	if len(files) > maxLeftFiles || size > maxLeftBytes {
		return nil, fmt.Errorf("%d files of %d bytes were made", len(files), size)
	}
	return files, nil
}

// maxPreloadReport bounds the guest's report on its imports, in bytes.
const maxPreloadReport = 1 << 20

// importAhead imports modules and returns what makes them unfit for a snapshot,
// or "".
func (in *Interp) importAhead(ctx context.Context, modules string) (problem string, err error) {
	text, err := in.guest(ctx).apply(in.functions.Preload, modules, maxPreloadReport)
	if err != nil {
		return "", err
	}
	report := [2]any{&problem, &in.asked}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		return "", fmt.Errorf("the guest's report: %w", err)
	}
	return problem, nil
}

// write writes the interpreter, which must be idle, to a new file.
func (in *Interp) write(f snapshot.File, files []memfs.Saved, l *suspended) error {
	s := snapshot.State{Globals: map[string]uint64{}, Tables: map[string]uint32{}}
	for _, name := range in.compiled.module.info.Globals {
		g, err := in.global(name)
		if err != nil {
			return err
		}
		s.Globals[name] = g.Get()
	}
	g := in.guest(context.Background())
	for _, t := range in.compiled.module.info.Tables {
		n, err := g.call(t.Size)
		if err != nil {
			return err
		}
		s.Tables[t.Size] = n
	}
	link, err := in.linking.linkState()
	if err != nil {
		return err
	}
	own := owner{
		Functions: in.functions, Clock: in.proc.Monotonic(), Link: link, Env: in.asked, Zone: in.proc.Zone(), Files: files, Suspended: l,
		Processors: in.processors, Generators: in.generators,
	}
	if l != nil {
		own.Key = in.rt.SnapshotKey()
	}
	if s.Owner, err = json.Marshal(own); err != nil {
		return err
	}
	mem := in.mod.Memory()
	memory, ok := mem.Read(0, mem.Size())
	if !ok {
		return errOutOfRange
	}
	if l == nil || in.from == nil {
		return snapshot.Write(f, memory, s)
	}
	return in.writeDelta(f, memory, s, l)
}
