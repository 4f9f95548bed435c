package pyodide

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
)

// linkState describes the interpreter's libraries and closures.
func (in *linking) linkState() (*linkState, error) {
	if in.linker == nil {
		return nil, nil
	}
	s, err := in.linker.State()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	if len(in.own) > 0 {
		return nil, fmt.Errorf("%w: it has compiled libraries of its own", ErrUnfit)
	}
	state := &linkState{Linker: s}
	if in.ffi != nil {
		state.FFI = in.ffi.State()
	}
	return state, nil
}

// restoreLibraries instantiates libraries at their recorded addresses. Memory and
// table have their size already; the memory's contents are restored later.
func (in *linking) restoreLibraries(ctx context.Context, s *linkState, mounts []Mount) error {
	if s == nil {
		return nil
	}
	l, err := in.dynamicLinker()
	if err != nil {
		return err
	}
	return l.Restore(in.context(ctx), s.Linker, func(ctx context.Context, ls dylink.LibraryState) (*dylink.Library, error) {
		lib, err := in.sharedLibrary(ctx, ls.Digest, ls.Path, nil, false)
		if !errors.Is(err, ErrNotPrepared) {
			return lib, err
		}
		b, err := readMounted(mounts, ls.Path)
		if err != nil {
			return nil, err
		}
		if codestore.Digest(b) != ls.Digest {
			return nil, fmt.Errorf("%s has changed", ls.Path)
		}
		return in.sharedLibrary(ctx, ls.Digest, ls.Path, b, true)
	})
}

// restoreClosures makes the closures again, after the memory is restored.
func (in *linking) restoreClosures(ctx context.Context, s *linkState) error {
	if s == nil || len(s.FFI.Closures)+len(s.FFI.Taken) == 0 {
		return nil
	}
	f, err := in.foreign()
	if err != nil {
		return err
	}
	return f.Restore(in.context(ctx), s.FFI)
}

// markRestored records the state right after a restore, for unchanged.
func (in *linking) markRestored() {
	if in.linker != nil {
		in.restored = in.linker.Changes()
	}
}

// unchanged reports whether libraries and closures are still those of the
// snapshot.
func (in *linking) unchanged(s *linkState) bool {
	if s == nil {
		return in.linker == nil && in.ffi == nil
	}
	return in.linker != nil && in.linker.Changes() == in.restored && !in.called && len(in.own) == 0
}

// readMounted reads a file out of the mounts that show it.
func readMounted(mounts []Mount, file string) ([]byte, error) {
	for _, m := range mounts {
		if name, ok := strings.CutPrefix(file, m.Dir+"/"); ok {
			b, err := fs.ReadFile(m.Tree, name)
			if !errors.Is(err, fs.ErrNotExist) {
				return b, err
			}
		}
	}
	return nil, &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
}
