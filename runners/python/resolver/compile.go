package resolver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"coderunner/cache"
	"coderunner/internal/order"
	"coderunner/internal/trace"
	"coderunner/runners"
	"coderunner/runners/python/reach"
)

// Compile compiles what importing modules runs of the packages, as far as that can be
// told without running it: see package reach. No modules are all those at the top of the
// packages. It sets the packages' Bytecode.
//
// A package has its bytecode in parts, each made by a run that imported what no run
// had imported before; Rest makes the last.
func (r *Resolver) Compile(ctx context.Context, packages []Package, modules []string, progress runners.ProgressFunc) error {
	version, err := r.trusted.LibraryVersion()
	if err != nil {
		return err
	}
	for i := range packages {
		r.findBytecode(ctx, &packages[i])
	}
	c := r.newCompilation(packages, progress)
	return c.once(ctx, fmt.Sprintf("%s %q", version, modules), func() error {
		if len(modules) == 0 {
			modules = topModules(c.trees)
		}
		sources, libraries := c.reach(modules)
		return c.compile(ctx, sources, libraries)
	})
}

// compileEarly begins to compile the bytecode of what the request's imports run of the
// packages, if one is new, and returns what waits for it.
func (s *session) compileEarly(ctx context.Context, packages []Package) (wait func() error) {
	var g errgroup.Group
	if len(s.imports) > 0 && len(s.downloaded) > 0 && !slices.ContainsFunc(packages, func(p Package) bool { return p.Tree == "" }) {
		c := s.newCompilation(packages, nil)
		sources, _ := c.reach(s.imports)
		g.Go(func() error { return c.bytecode(ctx, slices.DeleteFunc(sources, c.has)) })
	}
	return g.Wait
}

// Whole reports whether Rest is known to have compiled the package.
func (r *Resolver) Whole(p Package) bool {
	whole, _ := r.whole.Get(p.Key())
	return whole
}

// Rest compiles what Compile has left of a package, with one worker where nobody waits
// for it, and sets its Bytecode.
func (r *Resolver) Rest(ctx context.Context, p *Package, progress runners.ProgressFunc) error {
	version, err := r.trusted.LibraryVersion()
	if err != nil {
		return err
	}
	r.findBytecode(ctx, p)
	c := r.newCompilation([]Package{*p}, progress)
	if progress == nil {
		c.workers = 1
	}
	err = c.once(ctx, version+" whole", func() error {
		sources, err := compilable(p.Tree)
		if err != nil {
			return err
		}
		names, err := libraries(p.Tree)
		if err != nil {
			return err
		}
		var found []reach.File
		for _, name := range names {
			found = append(found, reach.File{Name: name})
		}
		if err := c.compile(ctx, sources, found); err != nil {
			return err
		}
		return c.layOut(ctx, found)
	})
	p.Bytecode = c.packages[0].Bytecode
	r.whole.Put(p.Key(), err == nil)
	return err
}

// LayOut makes the machine code faster that importing modules loads. Rest does so, too.
func (r *Resolver) LayOut(ctx context.Context, packages []Package, modules []string) error {
	c := r.newCompilation(packages, nil)
	_, libraries := c.reach(modules)
	return c.layOut(ctx, libraries)
}

// layOut makes the machine code of libraries faster.
func (c *compilation) layOut(ctx context.Context, libraries []reach.File) error {
	var g errgroup.Group
	g.SetLimit(cmp.Or(c.workers, compilations))
	for _, f := range libraries {
		g.Go(func() error {
			library, err := os.ReadFile(filepath.Join(c.trees[f.Tree], filepath.FromSlash(f.Name)))
			if err == nil {
				err = c.trusted.LayOut(ctx, library)
			}
			if err != nil {
				return fmt.Errorf("lay out %s: %w", f.Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// once calls do unless it was called for these packages with the bytecode that they have.
func (c *compilation) once(ctx context.Context, key string, do func() error) error {
	note := func() string {
		text := key
		for _, p := range c.packages {
			text += " " + p.part()
		}
		return text
	}
	if _, ok := c.cache.Find(ctx, cache.Files, "compiled", note()); ok {
		return nil
	}
	if err := do(); err != nil {
		return err
	}
	_, err := c.cache.File(ctx, "compiled", note(), func(context.Context, io.Writer) error { return nil })
	return err
}

// Key names a package's files and how they were prepared, as its directory in the
// cache is named.
func (p Package) Key() string { return p.SHA256 + " " + filepath.Base(filepath.Dir(p.Tree)) }

// compilation is one call of Compile.
type compilation struct {
	*Resolver
	packages []Package
	trees    []string // of packages
	progress runners.ProgressFunc
	workers  int // at most, 0 for the usual number

	item  string       // of its progress
	done  atomic.Int64 // bytes of sources, see libraryWeight
	total int64
}

// reached is an answer of reach.From.
type reached struct{ sources, libraries []reach.File }

// reach returns the files that importing modules runs of the packages. What compileEarly has
// asked, Compile asks again, and LayOut.
func (c *compilation) reach(modules []string) (sources, libraries []reach.File) {
	key := fmt.Sprintf("%q %q", c.trees, modules)
	found, ok := c.reached.Get(key)
	if !ok {
		defer trace.Begin("find what the imports run")()
		found.sources, found.libraries = reach.From(c.trees, modules)
		c.reached.Put(key, found)
	}
	return slices.Clone(found.sources), slices.Clone(found.libraries)
}

// newCompilation returns a compilation of packages, which it changes.
func (r *Resolver) newCompilation(packages []Package, progress runners.ProgressFunc) *compilation {
	c := &compilation{Resolver: r, packages: packages, progress: progress.Serial()}
	var names []string
	for _, p := range packages {
		c.trees, names = append(c.trees, p.Tree), append(names, p.Name)
	}
	const most = 3
	c.item = strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		c.item += fmt.Sprintf(" and %d more", more)
	}
	return c
}

// libraryWeight is the time that a byte of a library takes in that of a byte of a source.
const libraryWeight = 3

// compile compiles the files that are not compiled yet, the largest library first.
func (c *compilation) compile(ctx context.Context, sources, libraries []reach.File) error {
	sources = slices.DeleteFunc(sources, c.has)
	if len(sources)+len(libraries) == 0 {
		return nil
	}
	order.By(libraries, func(a, b reach.File) int { return cmp.Compare(c.size(b), c.size(a)) })
	for _, f := range sources {
		c.total += c.size(f)
	}
	for _, f := range libraries {
		c.total += libraryWeight * c.size(f)
	}
	g, ctx := errgroup.WithContext(ctx)
	if c.workers > 0 {
		g.SetLimit(c.workers)
	}
	g.Go(func() error { return c.bytecode(ctx, sources) })
	for _, f := range libraries {
		g.Go(func() error {
			_, err := c.library(ctx, c.packages[f.Tree].Name, c.trees[f.Tree], f.Name, nil)
			c.step(libraryWeight * c.size(f))
			return err
		})
	}
	return g.Wait()
}

// step reports so many bytes more as compiled.
func (c *compilation) step(bytes int64) {
	c.progress(runners.Progress{Phase: "compile", Item: c.item, Done: c.done.Add(bytes), Total: c.total})
}

func (c *compilation) size(f reach.File) int64 {
	info, err := os.Stat(filepath.Join(c.trees[f.Tree], filepath.FromSlash(f.Name)))
	if err != nil {
		return 0
	}
	return info.Size()
}

// library compiles a shared library of a package. The reason is why it cannot be loaded,
// nil if it can.
func (r *Resolver) library(ctx context.Context, project, tree, name string, progress runners.ProgressFunc) (reason, err error) {
	if err := r.compiling.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer r.compiling.Release(1)
	defer trace.Begin("compile " + path.Base(name))()
	progress.Report(runners.Progress{Phase: "compile", Item: project + " " + path.Base(name)})
	library, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", name, project, err)
	}
	reason = r.trusted.Library(ctx, path.Base(name), library)
	if _, ours := errors.AsType[*cache.StorageError](reason); ours || ctx.Err() != nil {
		return nil, reason
	}
	return reason, nil
}

// topModules lists what may be the modules at the top of directories.
func topModules(trees []string) (modules []string) {
	for _, tree := range trees {
		list, _ := os.ReadDir(tree) // whoever mounts it is told what is wrong with it
		for _, e := range list {
			name, _, _ := strings.Cut(e.Name(), ".")
			modules = append(modules, name)
		}
	}
	return modules
}
