package pyodide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/rewrite"
)

// PrepareLibrary rewrites and compiles a shared library (a .so out of a wheel)
// and keeps the result in the store, so that loading it later takes
// milliseconds. It may be called for many libraries at once; it ends early
// when ctx does. name is for progress and errors. Any error but one of the
// store or of ctx is the reason why the library cannot be loaded.
//
// A library is found again by its contents, whatever its file's name, and by all
// processes that share the store.
func (r *Runtime) PrepareLibrary(ctx context.Context, name string, library []byte) error {
	if r.config.Store == nil {
		return fmt.Errorf("prepare %s: %w", name, errNoStore)
	}
	sum := codestore.Digest(library)
	if _, _, err := r.prepared(ctx, sum, name, r.libraryBuilder(sum, library, libraryBudget(len(library)))); err != nil {
		return fmt.Errorf("prepare %s: %w", name, err)
	}
	return nil
}

// errNotPrepared is the error of a lookup in the store that must not build.
var errNotPrepared = errors.New("the library was not prepared")

// LibraryVersion changes whenever libraries must be prepared again.
func (r *Runtime) LibraryVersion() (string, error) {
	code, err := r.code.Version()
	return fmt.Sprintf("%s %s %s", rewrite.Version, linkKey(), code), err
}

// prepared returns the paths of the stub library and of its machine code, which
// are built if the store lacks them.
func (r *modules) prepared(ctx context.Context, sum, name string, build builder) (file, code string, err error) {
	return r.stored(ctx, libraryKinds, fmt.Sprintf("%s rewrite %v link %s", sum, rewrite.Version, linkKey()), name, build)
}

// libraryFile is the file in a directory that BuildLibrary reads.
const libraryFile = "library"

// libraryBuilder returns a builder that compiles a library, in another process
// unless it is small or Config.Compile is nil. One that exceeded its budget is not
// tried again.
func (r *modules) libraryBuilder(sum string, library []byte, memory int64) builder {
	return func(ctx context.Context, dir string) error {
		if err, ok := r.link.refused.Get(sum); ok {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, libraryFile), library, 0o600); err != nil {
			return err
		}
		if r.config.Compile == nil || len(library) <= smallLibrary {
			return BuildLibrary(ctx, dir)
		}
		err := r.config.Compile(ctx, dir, memory)
		if errors.Is(err, ErrBudget) {
			r.link.refused.Put(sum, err)
		}
		return err
	}
}

// BuildLibrary is for Config.Compile: it rewrites and compiles the shared library
// in dir and leaves the results there.
func BuildLibrary(ctx context.Context, dir string) error {
	library, err := os.ReadFile(filepath.Join(dir, libraryFile))
	if err != nil {
		return err
	}
	whole, err := rewriteLibrary(library)
	if err != nil {
		return err
	}
	stub, data, err := dylink.Stub(whole)
	if err != nil {
		return err
	}
	return codestore.Build(ctx, dir, codestore.Source{Whole: whole, Stub: stub, Data: data})
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

// openLibrary reads and compiles a library for dlopen. One from a mount is kept in
// the store, and its compilation counts as waiting (see Program.WaitLimit). One
// that the program has written itself is compiled for it alone.
func (in *linking) openLibrary(ctx context.Context, file string) (*dylink.Library, error) {
	node, errno := in.fs.Lookup(nil, file, true)
	if errno != abi.OK {
		return nil, errors.New("file not found")
	}
	mounted := in.fs.Access(node, abi.W_OK) == abi.EROFS
	limit := int64(rewrite.MaxInput)
	if !mounted {
		limit = maxOwn - in.ownBytes
	}
	if size := in.fs.Stat(node).Size; size > limit {
		if !mounted {
			return nil, fmt.Errorf("%w, and %d bytes are too much to be compiled now (%d are left)", errNotPrepared, size, limit)
		}
		return nil, fmt.Errorf("it has %d bytes, at most %d are possible", size, limit)
	}
	b, err := in.fs.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if mounted {
		in.deadline.pause()
		defer in.deadline.resume()
	}
	sum := codestore.Digest(b)
	if lib, err := in.sharedLibrary(ctx, sum, path.Base(file), b, mounted); !errors.Is(err, errNotPrepared) {
		return lib, err
	}
	return in.ownLibrary(ctx, sum, b)
}

// sharedLibrary returns a prepared library, loaded by another interpreter of this
// runtime or from the store. It prepares the library if build is set.
func (in *linking) sharedLibrary(ctx context.Context, sum, name string, b []byte, build bool) (*dylink.Library, error) {
	r := in.rt
	if r.config.Store == nil {
		return nil, errNotPrepared
	}
	make := func(context.Context, string) error { return errNotPrepared }
	if build {
		make = r.libraryBuilder(sum, b, libraryBudget(len(b)))
	}
	return r.link.shared.use(sum, &in.used, func() (*dylink.Library, int, error) {
		file, code, err := r.prepared(ctx, sum, name, make)
		if err != nil {
			return nil, 0, err
		}
		stub, err := r.link.shared.open(sum, file)
		if err != nil {
			return nil, 0, err
		}
		info, err := os.Stat(code)
		if err != nil {
			return nil, 0, err
		}
		lib, err := r.loadLibrary(ctx, sum, stub, code, func() ([]byte, error) {
			if !build {
				return nil, errNotPrepared
			}
			return rewriteLibrary(b)
		})
		return lib, int(info.Size()), err
	})
}

// loadLibrary loads a stub library with its machine code.
func (r *modules) loadLibrary(ctx context.Context, sum string, stub *codestore.Stub, code string, whole func() ([]byte, error)) (*dylink.Library, error) {
	image, err := dylink.NewImage(stub.Wasm)
	if err != nil {
		return nil, err
	}
	compiled, err := r.code.LoadOr(ctx, stub, code, whole)
	if err != nil {
		return nil, err
	}
	return &dylink.Library{Image: image, Code: compiled, Data: stub.Data, Digest: sum}, nil
}
