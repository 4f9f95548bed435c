package pyodide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"coderunner/internal/machine/abi"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/rewrite"
)

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
			return nil, fmt.Errorf("%w, and %d bytes are too much to be compiled now (%d are left)", ErrNotPrepared, size, limit)
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
	lib, err := in.sharedLibrary(ctx, sum, path.Base(file), b, mounted)
	if mounted && err != nil {
		in.lacked = err
	}
	if !errors.Is(err, ErrNotPrepared) {
		return lib, err
	}
	return in.ownLibrary(ctx, sum, b)
}

// sharedLibrary returns a prepared library, loaded by another interpreter of this
// runtime or from the store. It prepares the library if build is set.
func (in *linking) sharedLibrary(ctx context.Context, sum, name string, b []byte, build bool) (*dylink.Library, error) {
	r := in.compiled
	if r.config.Store == nil {
		return nil, ErrNotPrepared
	}
	if build && r.config.Prepare != nil {
		if err := r.config.Prepare(ctx, name, b); err != nil {
			return nil, err
		}
	}
	return r.link.shared.use(ctx, sum, &in.used, func() (*dylink.Library, int, error) {
		file, code, err := r.prepared(ctx, sum, name, b, build && r.config.Prepare == nil)
		if err != nil {
			return nil, 0, err
		}
		stub, err := r.link.shared.open(file)
		if err != nil {
			return nil, 0, err
		}
		info, err := os.Stat(code)
		if err != nil {
			return nil, 0, err
		}
		lib, err := r.loadLibrary(ctx, sum, stub, code, func() ([]byte, error) {
			if !build {
				return nil, ErrNotPrepared
			}
			return rewriteLibrary(b)
		})
		return lib, int(info.Size()), err
	})
}
