package resolver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"coderunner/cache"
	"coderunner/internal/order"
	"coderunner/internal/trace"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/python/reach"
)

// bytecodeFormat changes whenever modules must be compiled again.
const bytecodeFormat = "1"

// maxParts bounds the directories with a package's bytecode. The last one has all
// that the others lack.
const maxParts = 6

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
		sources, libraries := reach.From(c.trees, modules)
		return c.compile(ctx, sources, libraries)
	})
}

// compileEarly begins to compile the bytecode of what the request's imports run of the
// packages, if one is new, and returns what waits for it.
func (s *session) compileEarly(ctx context.Context, packages []Package) (wait func() error) {
	var g errgroup.Group
	if len(s.imports) > 0 && len(s.downloaded) > 0 && !slices.ContainsFunc(packages, func(p Package) bool { return p.Tree == "" }) {
		c := s.newCompilation(packages, nil)
		sources, _ := reach.From(c.trees, s.imports)
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
	_, libraries := reach.From(c.trees, modules)
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

// found is the bytecode that a package had a while ago.
type found struct {
	parts []string
	at    time.Time
}

// foundFor is how long it is taken for what the package has: it may be evicted.
const foundFor = time.Minute

// findBytecode sets the package's Bytecode to what the cache has.
func (r *Resolver) findBytecode(ctx context.Context, p *Package) {
	if known, ok := r.bytecode.Get(p.Key()); ok && time.Since(known.at) < foundFor {
		p.Bytecode = slices.Clone(known.parts)
		return
	}
	for p.Bytecode = nil; len(p.Bytecode) < maxParts && !p.Shared; {
		dir, ok := r.cache.Find(ctx, cache.Trees, "bytecode", p.part())
		if !ok {
			break
		}
		p.Bytecode = append(p.Bytecode, dir)
	}
	r.noteBytecode(*p)
}

func (r *Resolver) noteBytecode(p Package) {
	r.bytecode.Put(p.Key(), found{slices.Clone(p.Bytecode), time.Now()})
}

// part returns the key of the next part of a package's bytecode.
func (p Package) part() string {
	return fmt.Sprintf("%s %s %d", bytecodeFormat, p.Key(), len(p.Bytecode))
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

// has reports whether a source is compiled, or need not be.
func (c *compilation) has(f reach.File) bool {
	p := c.packages[f.Tree]
	return p.Shared || slices.ContainsFunc(p.Bytecode, func(part string) bool {
		_, err := os.Lstat(filepath.Join(part, filepath.FromSlash(bytecodeName(f.Name))))
		return err == nil
	})
}

// bytecode compiles sources and keeps what they become.
func (c *compilation) bytecode(ctx context.Context, sources []reach.File) error {
	if len(sources) == 0 {
		return nil
	}
	defer trace.Begin(fmt.Sprintf("compile %d modules to bytecode", len(sources)))()
	made := make([]map[string][]byte, len(c.packages))
	var names []string
	of := map[string]reach.File{}
	for _, f := range sources {
		names, of[f.Name] = append(names, f.Name), f
		made[f.Tree] = map[string][]byte{}
	}
	err := c.trusted.Compile(ctx, c.trees, names, c.workers, func(module string, pyc []byte) error {
		made[of[module].Tree][bytecodeName(module)] = pyc
		return nil
	}, func(module string) { c.step(c.size(of[module])) })
	if err != nil {
		return err
	}
	var g errgroup.Group
	for i, files := range made {
		if len(files) > 0 {
			g.Go(func() error { return c.keep(ctx, &c.packages[i], files) })
		}
	}
	return g.Wait()
}

// keep keeps files of bytecode as a package's next part.
func (c *compilation) keep(ctx context.Context, p *Package, files map[string][]byte) error {
	for kept := false; !kept && len(p.Bytecode) < maxParts; {
		dir, err := c.cache.Dir(ctx, "bytecode", p.part(), func(_ context.Context, dir string) error {
			kept = true
			for _, name := range slices.Sorted(maps.Keys(files)) {
				file := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(file, files[name], 0o644); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		p.Bytecode = append(p.Bytecode, dir) // another process's, if not kept
	}
	c.noteBytecode(*p)
	return nil
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

// bytecodeName returns the name of the bytecode of a module, where CPython looks for it.
func bytecodeName(module string) string {
	dir, base := path.Split(module)
	return dir + "__pycache__/" + strings.TrimSuffix(base, ".py") + "." + versions.BytecodeTag + ".pyc"
}

// compilable lists the modules of a package. Test suites are left out: they are large
// and rarely imported.
func compilable(tree string) (modules []reach.File, err error) {
	err = fs.WalkDir(os.DirFS(tree), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(name); d.IsDir() && (base == "tests" || base == "test" || base == "__pycache__") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".py") {
			return nil
		}
		info, err := d.Info()
		if err == nil && info.Size() <= reach.MaxSource {
			modules = append(modules, reach.File{Name: name})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	return modules, nil
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
