package trusted

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"coderunner/pyodide"
)

// maxSource bounds the modules that are compiled, in bytes. The few that are
// larger hold data and would take gigabytes.
const maxSource = 4 << 20

// Compile implements [resolver.Trusted]. Test suites are left out: they are
// large and rarely imported.
func (t Interpreters) Compile(ctx context.Context, dir string, progress func(done, total int64)) error {
	modules, err := compilable(dir)
	if err != nil || len(modules) == 0 {
		return err
	}
	return t.Runtime.Bytecode(ctx, pyodide.Bytecode{
		Tree: os.DirFS(dir), Modules: modules, Shown: pyodide.SitePackages, Progress: progress,
		Emit: func(module string, pyc []byte) error { return writeBytecode(dir, module, pyc) },
	})
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

// writeBytecode writes a module's bytecode where CPython looks for it. dir is the
// cache's unfinished directory, which no other process uses yet.
func writeBytecode(dir, module string, pyc []byte) error {
	parent := filepath.Join(dir, filepath.FromSlash(path.Dir(module)), "__pycache__")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	name := strings.TrimSuffix(path.Base(module), ".py") + "." + pyodide.CacheTag + ".pyc"
	return os.WriteFile(filepath.Join(parent, name), pyc, 0o644)
}
