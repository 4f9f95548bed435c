package python

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"coderunner/pyodide"
	"coderunner/runners/python/resolve"
)

//go:embed compile.py
var compileScript string

// Compile works in parallel when there are more modules than this.
const compileChunk = 150

// maxSource bounds the modules that are compiled, in bytes. The few that are
// larger hold data and would take gigabytes.
const maxSource = 4 << 20

// Compile implements [resolve.Trusted]. Test suites are left out: they are
// large, and whoever imports them can wait.
func (t trusted) Compile(ctx context.Context, dir string, progress func(done, total int64)) error {
	modules, err := compilable(dir)
	if err != nil || len(modules) == 0 {
		return err
	}
	var done atomic.Int64
	total := int64(len(modules))
	progress(0, total)
	step := func() {
		if n := done.Add(1); n%16 == 0 || n == total {
			progress(n, total)
		}
	}
	workers := 1
	if len(modules) > compileChunk {
		workers = 2
	}
	g, ctx := errgroup.WithContext(ctx)
	for part := range slices.Chunk(modules, (len(modules)+workers-1)/workers) {
		g.Go(func() error { return t.compile(ctx, dir, part, step) })
	}
	return g.Wait()
}

// compilable lists the modules below dir, slash-separated.
func compilable(dir string) ([]string, error) {
	var modules []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); base == "tests" || base == "test" || base == "__pycache__" {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err == nil && strings.HasSuffix(name, ".py") && info.Size() <= maxSource {
			modules = append(modules, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	return modules, nil
}

// compile makes bytecode of some modules. A source may well kill the
// interpreter: it is left out, and another interpreter goes on behind it.
func (t trusted) compile(ctx context.Context, dir string, modules []string, step func()) error {
	tree := os.DirFS(dir)
	for len(modules) > 0 {
		begun := -1
		calls := map[string]resolve.Call{
			"job": func(context.Context, []byte) (any, error) {
				return map[string]any{"folder": pyodide.SitePackages, "modules": modules}, nil
			},
			"begin": func(context.Context, []byte) (any, error) {
				begun++
				step()
				return nil, ctx.Err()
			},
			"compiled": func(_ context.Context, argument []byte) (any, error) {
				return nil, writeBytecode(dir, modules[begun], argument)
			},
		}
		res, said, err := t.script(ctx, compileScript, []fs.FS{tree}, calls)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case res.Exception != nil:
			return errors.New(res.Exception.Traceback)
		case res.Ended == pyodide.Finished && res.ExitCode == 0:
			return nil
		case begun < 0:
			return fmt.Errorf("the compiling interpreter %v: %w %s", res.Ended, errors.Join(res.Cause), said)
		}
		modules = modules[begun+1:]
	}
	return nil
}

// writeBytecode puts a module's bytecode where CPython looks for it. The
// folder is the cache's unfinished tree, which nobody else sees yet.
func writeBytecode(dir, module string, argument []byte) error {
	var made struct {
		Tag  string
		Data []byte
	}
	if err := json.Unmarshal(argument, &made); err != nil {
		return err
	}
	if made.Tag == "" || strings.ContainsAny(made.Tag, `/\.`) {
		return fmt.Errorf("the cache tag %q", made.Tag)
	}
	folder := filepath.Join(dir, filepath.FromSlash(path.Dir(module)), "__pycache__")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	name := strings.TrimSuffix(path.Base(module), ".py") + "." + made.Tag + ".pyc"
	return os.WriteFile(filepath.Join(folder, name), made.Data, 0o644)
}
