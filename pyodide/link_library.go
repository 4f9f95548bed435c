package pyodide

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/rewrite"
)

// maxBody bounds the functions of a library, in bytes: compiling takes a
// multiple of it in memory, and more than a multiple in time.
const maxBody = 4 << 20

// PrepareLibrary rewrites and compiles a shared library (a .so out of a wheel)
// and keeps the result in the store, so that loading it later takes
// milliseconds. It may be called for many libraries at once; it ends early
// when ctx does. name is for progress and errors. Any error but one of the
// store or of ctx says why the library cannot be loaded.
//
// It is the contents that count: a library is found again whatever its file is
// called, and by all processes that share the store.
func (r *Runtime) PrepareLibrary(ctx context.Context, name string, library []byte) error {
	if r.config.Store == nil {
		return fmt.Errorf("prepare %s: %w", name, errNoStore)
	}
	if _, _, err := r.prepared(ctx, digest(library), rewriteLibrary(name, library)); err != nil {
		return fmt.Errorf("prepare %s: %w", name, err)
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// errNotPrepared is what the store's lookups end with when nothing is to be
// built.
var errNotPrepared = errors.New("the library was not prepared")

// prepared gives the paths of the hollow library and of its machine code, out
// of the store or made.
func (r *Runtime) prepared(ctx context.Context, sum string, made func() (*whole, error)) (file, code string, err error) {
	return r.stored(ctx, libraryKinds, fmt.Sprintf("%s lower %v link %s", sum, rewrite.Version, linkKey()), made)
}

// rewriteLibrary rewrites a library once.
func rewriteLibrary(name string, library []byte) func() (*whole, error) {
	return sync.OnceValues(func() (*whole, error) {
		wasm, _, err := rewriteSide(library, maxBody)
		if err != nil {
			return nil, err
		}
		return &whole{item: name, wasm: wasm}, nil
	})
}

// rewriteSide rewrites a shared library and checks that it can be loaded.
func rewriteSide(library []byte, maxBody int) ([]byte, *dylink.Image, error) {
	out, _, err := rewrite.Module(library, rewrite.Options{Side: true})
	if err != nil {
		return nil, nil, err
	}
	if out, err = dylink.Rename(out, forLibraries); err != nil {
		return nil, nil, err
	}
	image, err := dylink.NewImage(out)
	if err != nil {
		return nil, nil, err
	}
	if image.LargestBody > maxBody {
		return nil, nil, fmt.Errorf("it has a function of %d bytes, at most %d can be compiled", image.LargestBody, maxBody)
	}
	return out, image, nil
}

// openLibrary reads and compiles a library for dlopen. What comes from a mount
// is kept in the store and its time is not the program's; what the program has
// written itself is compiled for it alone.
func (in *Interp) openLibrary(ctx context.Context, file string) (*dylink.Library, error) {
	node, errno := in.fs.Lookup(nil, file, true)
	if errno != abi.OK {
		return nil, errors.New("file not found")
	}
	mounted := in.fs.Access(node, abi.W_OK) == abi.EROFS
	limit := int64(rewrite.MaxInput)
	if !mounted {
		limit = maxSpot - in.spotBytes
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
	sum := digest(b)
	if lib, err := in.sharedLibrary(ctx, sum, path.Base(file), b, mounted); !errors.Is(err, errNotPrepared) {
		return lib, err
	}
	return in.compileOnTheSpot(ctx, sum, b)
}

// sharedLibrary gives a library that was prepared, by this runtime's other
// interpreters or in the store, or prepares it if build is set.
func (in *Interp) sharedLibrary(ctx context.Context, sum, name string, b []byte, build bool) (*dylink.Library, error) {
	r := in.rt
	if r.config.Store == nil {
		return nil, errNotPrepared
	}
	made := func() (*whole, error) { return nil, errNotPrepared }
	if build {
		made = rewriteLibrary(name, b)
	}
	return r.link.shared.use(sum, &in.used, func() (*dylink.Library, int, error) {
		file, code, err := r.prepared(ctx, sum, made)
		if err != nil {
			return nil, 0, err
		}
		h, err := r.link.shared.open(sum, file)
		if err != nil {
			return nil, 0, err
		}
		image, err := dylink.NewImage(h.wasm)
		if err != nil {
			return nil, 0, err
		}
		info, err := os.Stat(code)
		if err != nil {
			return nil, 0, err
		}
		compiled, err := r.load(ctx, h, code, made)
		if err != nil {
			return nil, 0, err
		}
		return &dylink.Library{Image: image, Code: compiled, Data: h.data, Digest: sum}, int(info.Size()), nil
	})
}
