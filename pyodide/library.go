package pyodide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/split"
	"coderunner/pyodide/wasmbin"
)

// PrepareLibrary rewrites and compiles a shared library (a .so out of a wheel)
// and keeps the result in the store, so that loading it later takes
// milliseconds. It may be called for many libraries at once; it ends early
// when ctx does. name is for progress and errors. Any error but one of the
// store or of ctx is the reason why the library cannot be loaded. See Config.Later.
//
// A library is found again by its contents, whatever its file's name, and by all
// processes that share the store.
func (r *compiled) PrepareLibrary(ctx context.Context, name string, library []byte) error {
	if r.config.Store == nil {
		return fmt.Errorf("prepare %s: %w", name, errNoStore)
	}
	sum := codestore.Digest(library)
	if _, _, err := r.prepared(ctx, sum, name, library, true); err != nil {
		return fmt.Errorf("prepare %s: %w", name, err)
	}
	return nil
}

// LayOutLibrary compiles a library whole, and lays out its machine code, that was split when it
// was prepared, for whoever loads it from then on.
func (r *compiled) LayOutLibrary(ctx context.Context, library []byte) error {
	if !large(library) {
		return nil
	}
	sum := codestore.Digest(library)
	if _, _, err := r.kept(ctx, libraryKey(sum)); !errors.Is(err, ErrNotPrepared) {
		return err
	}
	_, _, err := r.kept(ctx, firstKey(sum))
	if err == nil {
		_, _, err = r.code.Get(ctx, r.config.Store, libraryKinds, libraryKey(sum), r.libraryBuilder(sum, library, libraryBudget(len(library)), false))
	}
	if err != nil {
		return fmt.Errorf("lay out a library: %w", err)
	}
	return nil
}

// ErrNotPrepared is the error of a lookup in a store that lacks what is looked for and must
// not build it.
var ErrNotPrepared = errors.New("the library was not prepared")

// LibraryVersion changes whenever libraries must be prepared again.
func (r *compiled) LibraryVersion() (string, error) {
	code, err := r.code.Version()
	return fmt.Sprintf("%s %s %s", rewrite.SideVersion, linkKey(), code), err
}

// prepared returns the paths of the stub library and of its machine code. If the store lacks
// them they are built, or the error is ErrNotPrepared.
func (r *compiled) prepared(ctx context.Context, sum, name string, library []byte, build bool) (file, code string, err error) {
	key, later := libraryKey(sum), r.config.Later && (large(library) || library == nil)
	if later {
		if file, code, err = r.kept(ctx, key); !errors.Is(err, ErrNotPrepared) {
			return file, code, err
		}
		key = firstKey(sum)
	}
	if !build {
		return r.kept(ctx, key)
	}
	return r.stored(ctx, libraryKinds, key, name, func(ctx context.Context, dir string) error {
		if later {
			if err := os.WriteFile(filepath.Join(dir, laterFile), nil, 0o600); err != nil {
				return err
			}
		}
		return r.libraryBuilder(sum, library, libraryBudget(len(library)), false)(ctx, dir)
	})
}

// kept returns the files of a library that the store has; otherwise the error is
// ErrNotPrepared.
func (r *compiled) kept(ctx context.Context, key string) (file, code string, err error) {
	return r.code.Get(ctx, r.config.Store, libraryKinds, key, func(context.Context, string) error { return ErrNotPrepared })
}

// libraryKey names a library whose machine code is laid out anew, if this processor's is.
func libraryKey(sum string) string {
	return fmt.Sprintf("%s rewrite %v link %s", sum, rewrite.SideVersion, linkKey())
}

// firstKey names a library that is split, to be compiled whole later.
func firstKey(sum string) string {
	return fmt.Sprintf("%s split %s", libraryKey(sum), split.Version)
}

// large reports whether Config.Later is for a library: each takes a process later, and so more
// for a small one.
func large(library []byte) bool { return len(library) >= 128<<10 }

// The files in a directory that BuildLibrary reads.
const (
	libraryFile = "library"
	laterFile   = "later" // its presence has the library split if it can be
	partFile    = "part"  // in place of libraryFile
)

// libraryBuilder returns a builder that compiles a library, in another process
// unless here is set or Config.Compile is nil. One that exceeded its budget is not
// tried again.
func (r *compiled) libraryBuilder(sum string, library []byte, memory int64, here bool) builder {
	return func(ctx context.Context, dir string) error {
		if err, ok := r.link.refused.Get(sum); ok {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, libraryFile), library, 0o600); err != nil {
			return err
		}
		err := r.build(ctx, dir, memory, here)
		if errors.Is(err, ErrBudget) {
			r.link.refused.Put(sum, err)
		}
		return err
	}
}

// build calls BuildLibrary, where libraryBuilder has it called.
func (r *compiled) build(ctx context.Context, dir string, memory int64, here bool) error {
	if r.config.Compile == nil || here {
		return BuildLibrary(ctx, dir)
	}
	return r.config.Compile(ctx, dir, memory)
}

// BuildLibrary is for Config.Compile: it rewrites and compiles the shared library
// in dir, or compiles a part of one, and leaves the results there.
func BuildLibrary(ctx context.Context, dir string) error {
	has := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	if part, err := os.ReadFile(filepath.Join(dir, partFile)); err == nil {
		return codestore.Build(ctx, dir, codestore.Source{Whole: part})
	}
	library, err := os.ReadFile(filepath.Join(dir, libraryFile))
	if err != nil {
		return err
	}
	whole, err := rewriteLibrary(library)
	if err != nil {
		return err
	}
	var source librarySource
	if source.Stub, source.Data, err = dylink.Stub(whole); err != nil {
		return err
	}
	if source.Whole = whole; has(laterFile) {
		if err := source.split(); err != nil {
			return err
		}
	}
	return codestore.Build(ctx, dir, source.Source)
}

// IsLibrary reports whether what BuildLibrary would compile in a directory is a library.
func IsLibrary(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, libraryFile))
	if err != nil {
		return true // BuildLibrary says so
	}
	m, err := wasmbin.Parse(b)
	return err != nil || m.Dylink != nil
}

// rewriteLibrary rewrites a shared library and checks that it can be loaded.
func rewriteLibrary(library []byte) ([]byte, error) {
	out, _, err := rewrite.Module(library, rewrite.Options{Side: true})
	if err != nil {
		return nil, err
	}
	if out, err = dylink.Rename(out, forLibraries); err != nil {
		return nil, err
	}
	image, err := dylink.NewImage(out)
	if err != nil {
		return nil, err
	}
	if image.LargestBody > maxBody {
		return nil, fmt.Errorf("it has a function of %d bytes, at most %d can be compiled", image.LargestBody, maxBody)
	}
	return out, nil
}

// loadLibrary loads a stub library with its machine code.
func (r *compiled) loadLibrary(ctx context.Context, sum string, stub *codestore.Stub, code string, whole func() ([]byte, error)) (*dylink.Library, error) {
	lib := &dylink.Library{Data: stub.Data, Digest: sum}
	image := stub.Wasm
	if len(stub.Info) > 0 {
		info, err := decodeSplit(stub.Info)
		if err != nil {
			return nil, err
		}
		image, lib.Parts = info.Image, newParts(r, sum, info)
	}
	r.checkLayout("library "+sum, stub)
	var err error
	if lib.Image, err = dylink.NewImage(image); err != nil {
		return nil, err
	}
	lib.Code, err = r.code.LoadOr(ctx, stub, code, whole)
	return lib, err
}

// initLink sets the limits and defers what is made on first use.
func (r *compiled) initLink() {
	l := &r.link
	l.compilers = make(chan struct{}, ownCompilers)
	l.shared.whole = func(sum string) bool {
		_, _, err := r.kept(l.ctx, libraryKey(sum))
		return err == nil
	}
	l.parts.Weigh = func(p Part) int { return len(p.Stub) + len(p.Code) }
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.main = sync.OnceValues(func() (*dylink.Main, error) {
		ctx := context.Background()
		if err := errors.Join(libraryRows().Instantiate(ctx, r.wz), instantiateLoader(ctx, r.wz)); err != nil {
			return nil, err
		}
		f, err := r.module.functions()
		if err != nil {
			return nil, err
		}
		return dylink.NewMain(r.module.wasm, dylink.MainFacts{
			Symbols: r.module.info.Symbols, Slots: f.Slots, SlotTypes: f.SlotTypes, Types: f.Types})
	})
}

func (r *compiled) instantiateAnonymous(ctx context.Context, code wazero.CompiledModule) (api.Module, error) {
	return r.wz.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
}
