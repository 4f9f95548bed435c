package resolver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"coderunner/internal/trace"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/python/reach"
	"coderunner/runners/python/standins"
	"coderunner/runners/python/wheel"
)

// treeFormat changes whenever wheels must be unpacked again.
const treeFormat = "3"

// treeKey returns the cache's key of a wheel's files.
func (p pin) treeKey() string {
	key := fmt.Sprintf("%s-%s-pyodide%s%s", p.SHA256, treeFormat, versions.PyodideVersion, standins.Key(p.Name))
	if p.Strip {
		key += "-python"
	}
	if p.sdist() {
		key += "-built" + buildFormat
	}
	return key
}

// unpack returns the directory with a wheel's files and their bytecode.
func (s *session) unpack(ctx context.Context, p pin) (Package, error) {
	tree, err := s.cache.Dir(ctx, "wheel", p.treeKey(), func(ctx context.Context, dir string) error {
		path, err := s.wheelFile(ctx, p)
		if err != nil {
			return err
		}
		return s.extract(ctx, p, path, dir)
	})
	if err != nil {
		return Package{}, err
	}
	s.mu.Lock()
	fetched := s.downloaded[p.SHA256]
	s.mu.Unlock()
	found := Package{
		Package: runners.Package{Name: p.Name, Version: p.Version, Source: p.Source, SHA256: p.SHA256, Cached: !fetched, Adapted: p.Strip},
		Tree:    tree,
		Needs:   p.Needs,
		Older:   p.Older,
		Shared:  p.shared(),
	}
	s.findBytecode(ctx, &found)
	return found, nil
}

func (s *session) extract(ctx context.Context, p pin, path, dir string) error {
	defer trace.Begin("unpack " + p.Filename)()
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

// loadable checks, once, that a wheel with libraries has one that can be loaded: some may
// be unusable here (tests, alternatives). A wheel without one is refused, unless it works
// without. What its own modules import is compiled for this, and more if that fails.
func (s *session) loadable(ctx context.Context, p pin, tree string) error {
	if p.pure() > 0 {
		return nil
	}
	version, err := s.trusted.LibraryVersion()
	if err != nil {
		return err
	}
	_, err = s.cache.File(ctx, "wheel-code", p.treeKey()+" "+version, func(context.Context, io.Writer) error {
		all, err := libraries(tree)
		if err != nil {
			return fmt.Errorf("list libraries of %s: %w", p.Filename, err)
		}
		_, imported := reach.From([]string{tree}, topModules([]string{tree}))
		first, rest := []string{}, all
		for _, f := range imported {
			if i := slices.Index(rest, f.Name); i >= 0 {
				first, rest = append(first, f.Name), slices.Delete(rest, i, i+1)
			}
		}
		all = append(first, rest...)
		reasons, err := s.try(ctx, p, tree, first)
		for err == nil && len(reasons) < len(all) && !slices.Contains(reasons, nil) {
			var next []error
			next, err = s.try(ctx, p, tree, all[len(reasons):][:1])
			reasons = append(reasons, next...)
		}
		if err != nil || len(reasons) == 0 || slices.Contains(reasons, nil) || pythonOnly(p.Name) {
			return err
		}
		if errors.Is(errors.Join(reasons...), ErrTooCostly) && p.Source != sourcePyodide {
			s.mu.Lock()
			s.costly[p.Filename] = true
			s.mu.Unlock()
		}
		return &wheel.RefusedError{File: p.Filename, Reason: fmt.Sprintf("its library %s cannot be loaded: %v", all[0], reasons[0])}
	})
	return err
}

// try compiles libraries of a wheel and returns for each why it cannot be loaded.
func (s *session) try(ctx context.Context, p pin, tree string, names []string) ([]error, error) {
	reasons := make([]error, len(names))
	var g errgroup.Group
	g.SetLimit(compilations)
	for i, name := range names {
		g.Go(func() (err error) {
			reasons[i], err = s.library(ctx, p.Name, tree, name, s.progress)
			return err
		})
	}
	return reasons, g.Wait()
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
