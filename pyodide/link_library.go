package pyodide

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/lower"
)

// maxBody bounds the functions of a library, in bytes: compiling takes a
// multiple of it in memory, and more than a multiple in time.
const maxBody = 4 << 20

// PrepareLibrary lowers and compiles a shared library (a .so out of a wheel)
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
	if _, _, err := r.prepared(ctx, digest(library), name, library, true); err != nil {
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

// prepared gives the file of the lowered library and the folder of its machine
// code out of the store, where build says whether to make them.
func (r *Runtime) prepared(ctx context.Context, sum, name string, library []byte, build bool) (file, dir string, err error) {
	key := fmt.Sprintf("%s lower %v link %s", sum, lower.Version, linkKey())
	file, err = r.config.Store.File(ctx, "side-lowered", key, func(_ context.Context, w io.Writer) error {
		if !build {
			return errNotPrepared
		}
		out, _, err := lowerSide(library, maxBody)
		if err != nil {
			return err
		}
		_, err = w.Write(out)
		return err
	})
	if err != nil {
		return "", "", err
	}
	key = fmt.Sprintf("%s wazero %s %s/%s", key, wazeroVersion(), runtime.GOOS, runtime.GOARCH)
	dir, err = r.config.Store.Dir(ctx, "side-code", key, func(ctx context.Context, dir string) error {
		if !build {
			return errNotPrepared
		}
		wasm, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read lowered library: %w", err)
		}
		return compileInto(ctx, dir, wasm, name, r.progress)
	})
	return file, dir, err
}

// lowerSide lowers a shared library and checks that it can be loaded.
func lowerSide(library []byte, maxBody int) ([]byte, *dylink.Image, error) {
	out, _, err := lower.Lower(library, lower.Options{Side: true})
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
	limit := int64(lower.MaxInput)
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
	return r.link.shared.use(sum, &in.used, func() (*dylink.Library, int, error) {
		file, dir, err := r.prepared(ctx, sum, name, b, build)
		if err != nil {
			return nil, 0, err
		}
		wasm, err := r.link.shared.file(sum, file)
		if err != nil {
			return nil, 0, fmt.Errorf("read lowered library: %w", err)
		}
		image, err := dylink.NewImage(wasm)
		if err != nil {
			return nil, 0, err
		}
		code, err := r.code.compile(ctx, r.wz, wasm, dir)
		if err != nil {
			return nil, 0, err
		}
		return &dylink.Library{Image: image, Code: code, Digest: sum}, len(wasm), nil
	})
}
