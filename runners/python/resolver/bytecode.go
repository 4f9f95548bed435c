package resolver

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"coderunner/cache"
	"coderunner/internal/trace"
	"coderunner/internal/versions"
	"coderunner/runners/python/reach"
)

// bytecodeFormat changes whenever modules must be compiled again.
const bytecodeFormat = "1"

// maxParts bounds the directories with a package's bytecode. The last one has all
// that the others lack.
const maxParts = 6

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
	of, sizes := map[string]reach.File{}, map[string]int64{}
	for _, f := range sources {
		names, of[f.Name], sizes[f.Name] = append(names, f.Name), f, c.size(f)
		made[f.Tree] = map[string][]byte{}
	}
	// The largest first, so that at the end no interpreter is alone with one.
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) })
	err := c.trusted.Compile(ctx, c.trees, names, c.workers, func(module string, pyc []byte) error {
		made[of[module].Tree][bytecodeName(module)] = pyc
		return nil
	}, func(module string) { c.step(sizes[module]) })
	if err != nil {
		return err
	}
	defer trace.Begin("keep the bytecode")()
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
			var g errgroup.Group
			g.SetLimit(compilations)
			for name, pyc := range files {
				g.Go(func() error {
					file := filepath.Join(dir, filepath.FromSlash(name))
					if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
						return err
					}
					return os.WriteFile(file, pyc, 0o444)
				})
			}
			return g.Wait()
		})
		if err != nil {
			return err
		}
		p.Bytecode = append(p.Bytecode, dir) // another process's, if not kept
	}
	c.noteBytecode(*p)
	return nil
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
