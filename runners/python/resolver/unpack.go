package resolver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"coderunner/cache"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/python/standins"
	"coderunner/runners/python/wheel"
)

// treeFormat changes whenever wheels must be unpacked again.
const treeFormat = "2"

// unpack returns the directory with a wheel's files and their bytecode.
func (s *session) unpack(ctx context.Context, p pin) (Package, error) {
	key := fmt.Sprintf("%s-%s-pyodide%s%s", p.SHA256, treeFormat, versions.PyodideVersion, standins.Key(p.Name))
	if p.Strip {
		key += "-python"
	}
	if p.sdist() {
		key += "-built" + buildFormat
	}
	built := false
	tree, err := s.cache.Dir(ctx, "wheel", key, func(ctx context.Context, dir string) error {
		built = true
		path, err := s.wheelFile(ctx, p)
		if err != nil {
			return err
		}
		if err := s.extract(ctx, p, path, dir); err != nil {
			return err
		}
		if err := s.compile(ctx, p, dir); err != nil {
			return err
		}
		return s.libraries(ctx, p, dir)
	})
	if err == nil && !built && !p.Strip && !p.sdist() && !strings.HasSuffix(p.Filename, "-none-any.whl") {
		err = s.again(ctx, p, key, tree)
	}
	if err != nil {
		return Package{}, err
	}
	s.mu.Lock()
	fetched := s.downloaded[p.SHA256]
	s.mu.Unlock()
	return Package{
		Package: runners.Package{Name: p.Name, Version: p.Version, Source: p.Source, SHA256: p.SHA256, Cached: !fetched, Adapted: p.Strip},
		Tree:    tree,
		Needs:   p.Needs,
		Older:   p.Older,
		Shared:  p.shared(),
	}, nil
}

// again compiles the libraries of a wheel that was unpacked by another version,
// once: otherwise compiling them would be charged to the program.
func (s *session) again(ctx context.Context, p pin, key, tree string) error {
	version, err := s.trusted.LibraryVersion()
	if err != nil {
		return err
	}
	_, err = s.cache.File(ctx, "wheel-code", key+" "+version, func(ctx context.Context, w io.Writer) error {
		if err := s.libraries(ctx, p, tree); err != nil {
			return err
		}
		_, err := io.WriteString(w, p.Filename)
		return err
	})
	return err
}

func (s *session) extract(ctx context.Context, p pin, path, dir string) error {
	s.progress(runners.Progress{Phase: "unpack", Item: p.Filename})
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", p.Filename, err)
	}
	defer f.Close()
	if p.shared() {
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("read %s: %w", p.Filename, err)
		}
		return wheel.InstallLibraries(ctx, f, info.Size(), p.Filename, dir, wheel.DefaultLimits)
	}
	w, err := openWheel(f, p.wheelName(path))
	if err != nil {
		return err
	}
	if w.Name.Project != p.Name {
		return &wheel.RefusedError{File: p.Filename, Reason: "it is not of the project " + p.Name}
	}
	var keep func(string) bool
	if p.Strip {
		keep = func(path string) bool { return !wheel.IsNative(path) }
	}
	if err := w.InstallTo(ctx, dir, keep); err != nil {
		return err
	}
	return standins.Replace(p.Name, dir, p.Strip)
}

// compile adds bytecode.
func (s *session) compile(ctx context.Context, p pin, dir string) error {
	if err := s.compiling.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.compiling.Release(1)
	err := s.trusted.Compile(ctx, dir, func(done, total int64) {
		s.progress(runners.Progress{Phase: "compile", Item: p.Filename, Done: done, Total: total})
	})
	if err != nil {
		return fmt.Errorf("compile %s: %w", p.Filename, err)
	}
	return nil
}

// libraries compiles the wheel's libraries. Some may be unusable here (tests,
// alternatives): importing one reports why. A wheel of which none can be loaded is
// refused, unless it works without.
func (s *session) libraries(ctx context.Context, p pin, dir string) error {
	names, err := libraries(dir)
	if err != nil {
		return fmt.Errorf("list libraries of %s: %w", p.Filename, err)
	}
	reasons := make([]error, len(names))
	var done atomic.Int64
	var g errgroup.Group
	g.SetLimit(compilations)
	for i, name := range names {
		g.Go(func() error {
			defer done.Add(1)
			if err := s.compiling.Acquire(ctx, 1); err != nil {
				return err
			}
			defer s.compiling.Release(1)
			s.progress(runners.Progress{
				Phase: "compile", Item: p.Name + " " + path.Base(name), Done: done.Load(), Total: int64(len(names)),
			})
			library, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if err != nil {
				return fmt.Errorf("read %s of %s: %w", name, p.Filename, err)
			}
			err = s.trusted.Library(ctx, path.Base(name), library)
			if _, ours := errors.AsType[*cache.StorageError](err); ours || ctx.Err() != nil {
				return err
			}
			reasons[i] = err
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if len(names) == 0 || slices.Contains(reasons, nil) || pythonOnly(p.Name) {
		return nil
	}
	if errors.Is(reasons[0], ErrTooCostly) && p.Source != sourcePyodide {
		s.mu.Lock()
		s.costly[p.Filename] = true
		s.mu.Unlock()
	}
	return &wheel.RefusedError{File: p.Filename, Reason: fmt.Sprintf("its library %s cannot be loaded: %v", names[0], reasons[0])}
}

// libraries lists the WebAssembly libraries below dir. Wheels for any platform may
// have libraries for several.
func libraries(dir string) (names []string, err error) {
	root := os.DirFS(dir)
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !wheel.IsNative(name) {
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		head := make([]byte, len(wasmMagic))
		if _, err := io.ReadFull(f, head); err == nil && string(head) == wasmMagic {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// wasmMagic begins each WebAssembly module.
const wasmMagic = "\x00asm"
