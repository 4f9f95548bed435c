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
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/lower"
)

// maxSpot bounds the libraries, in bytes, that a program may have compiled
// without their having been prepared: files that it has written itself.
const maxSpot = 8 << 20

// libraries are the shared libraries that a runtime has loaded. They stay
// until the runtime is closed; the store's are few and the same again and
// again, a program's own are closed with its interpreter.
type libraries struct {
	mu    sync.Mutex
	known map[string]*dylink.Library // by digest
}

// PrepareLibrary lowers and compiles a shared library (a .so out of a wheel)
// and keeps the result in the store, so that loading it later takes
// milliseconds. It may be called for many libraries at once; it ends early
// when ctx does. name is for progress and errors. An error that is about the
// library says why it cannot be loaded.
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

// prepared gives the lowered library and the folder of its machine code out of
// the store, where build says whether to make them.
func (r *Runtime) prepared(ctx context.Context, sum, name string, library []byte, build bool) (wasm []byte, dir string, err error) {
	key := fmt.Sprintf("%s lower %v", sum, lower.Version)
	file, err := r.config.Store.File(ctx, "side-lowered", key, func(_ context.Context, w io.Writer) error {
		if !build {
			return errNotPrepared
		}
		out, err := lowerSide(library)
		if err != nil {
			return err
		}
		_, err = w.Write(out)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if wasm, err = os.ReadFile(file); err != nil {
		return nil, "", fmt.Errorf("read lowered library: %w", err)
	}
	key = fmt.Sprintf("%s wazero %s %s/%s", digest(wasm), wazeroVersion(), runtime.GOOS, runtime.GOARCH)
	dir, err = r.config.Store.Dir(ctx, "side-code", key, func(ctx context.Context, dir string) error {
		if !build {
			return errNotPrepared
		}
		return compileInto(ctx, dir, wasm, name, r.progress)
	})
	return wasm, dir, err
}

// lowerSide lowers a shared library and checks that it can be loaded.
func lowerSide(library []byte) ([]byte, error) {
	out, _, err := lower.Lower(library, lower.Options{Side: true})
	if err != nil {
		return nil, err
	}
	if _, err := dylink.NewImage(out); err != nil {
		return nil, err
	}
	return out, nil
}

// openLibrary reads and compiles a library for dlopen. What comes from a mount
// is kept in the store and its time is not the program's; what the program has
// written itself is compiled for it alone.
func (in *Interp) openLibrary(ctx context.Context, file string) (*dylink.Library, error) {
	node, errno := in.fs.Lookup(nil, file, true)
	if errno != abi.OK {
		return nil, errors.New("file not found")
	}
	if size := in.fs.Stat(node).Size; size > lower.MaxInput {
		return nil, fmt.Errorf("the file has %d bytes, at most %d are possible", size, lower.MaxInput)
	}
	mounted := in.fs.Access(node, abi.W_OK) == abi.EROFS
	b, err := in.fs.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if mounted {
		in.deadline.pause()
		defer in.deadline.resume()
	}
	return in.rt.library(ctx, path.Base(file), b, mounted, in)
}

// library gives the library that a file holds, compiling it if need be.
func (r *Runtime) library(ctx context.Context, name string, b []byte, keep bool, in *Interp) (*dylink.Library, error) {
	sum := digest(b)
	r.link.mu.Lock()
	lib := r.link.known[sum]
	r.link.mu.Unlock()
	if lib != nil {
		return lib, nil
	}
	if r.config.Store != nil {
		wasm, dir, err := r.prepared(ctx, sum, name, b, keep)
		if err == nil {
			return r.loadLibrary(ctx, sum, wasm, dir)
		}
		if !errors.Is(err, errNotPrepared) {
			return nil, err
		}
	}
	return r.compileOnTheSpot(ctx, sum, b, in)
}

// loadLibrary loads a prepared library for all interpreters.
func (r *Runtime) loadLibrary(ctx context.Context, sum string, wasm []byte, dir string) (*dylink.Library, error) {
	image, err := dylink.NewImage(wasm)
	if err != nil {
		return nil, err
	}
	code, err := r.code.compile(ctx, r.wz, wasm, dir)
	if err != nil {
		return nil, err
	}
	lib := &dylink.Library{Image: image, Code: code, Digest: sum}
	r.link.mu.Lock()
	defer r.link.mu.Unlock()
	if r.link.known == nil {
		r.link.known = map[string]*dylink.Library{}
	}
	if other := r.link.known[sum]; other != nil {
		return other, code.Close(ctx)
	}
	r.link.known[sum] = lib
	return lib, nil
}

// compileOnTheSpot compiles a library that a program has made itself.
func (r *Runtime) compileOnTheSpot(ctx context.Context, sum string, b []byte, in *Interp) (*dylink.Library, error) {
	for _, lib := range in.spot {
		if lib.Digest == sum {
			return lib, nil
		}
	}
	if in.spotBytes += len(b); in.spotBytes > maxSpot {
		return nil, fmt.Errorf("it was not prepared, and is too large to be compiled now (%d bytes)", len(b))
	}
	wasm, err := lowerSide(b)
	if err != nil {
		return nil, err
	}
	image, err := dylink.NewImage(wasm)
	if err != nil {
		return nil, err
	}
	code, err := r.compileApart(ctx, wasm)
	if err != nil {
		return nil, err
	}
	lib := &dylink.Library{Image: image, Code: code, Digest: sum}
	in.spot = append(in.spot, lib)
	return lib, nil
}

// compileApart compiles in a folder of its own, so that the end of ctx is
// heeded and others are not held up.
func (r *Runtime) compileApart(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	if r.code == nil {
		return r.wz.CompileModule(compileContext(ctx), wasm)
	}
	dir, err := os.MkdirTemp(r.code.dir, "spot-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := compileInto(ctx, dir, wasm, "", func(Progress) {}); err != nil {
		return nil, err
	}
	return r.code.compile(ctx, r.wz, wasm, dir)
}

// compileContext lets wazero compile on all processors; with one worker it
// would not look at ctx.
func compileContext(ctx context.Context) context.Context {
	return experimental.WithCompilationWorkers(ctx, max(2, compileWorkers()))
}

// absolute gives the path of a name in the guest.
func (in *Interp) absolute(name string) string {
	if !strings.HasPrefix(name, "/") {
		name = in.proc.Cwd() + "/" + name
	}
	return path.Clean(name)
}

// closeLinker gives back what dynamic linking has taken. Nothing of the guest
// may run any more.
func (in *Interp) closeLinker() error {
	var errs []error
	if in.linker != nil {
		errs = append(errs, in.linker.Close())
	}
	for _, lib := range in.spot {
		errs = append(errs, lib.Code.Close(context.Background()))
	}
	return errors.Join(errs...)
}
