package trusted

import (
	"context"

	"coderunner/cache"
	"coderunner/pyodide"
)

// Compile implements [resolver.Trusted]. The bytecode is checked against its source when
// it is used: of packages that have a file of the same name, another may come first in
// another program.
func (t Interpreters) Compile(ctx context.Context, trees, modules []string, workers int, emit func(module string, pyc []byte) error, begins func(module string)) error {
	b := pyodide.Bytecode{Modules: modules, Shown: pyodide.SitePackages, Checked: true, Workers: workers, Emit: emit, Begins: begins}
	for _, dir := range trees {
		b.Trees = append(b.Trees, cache.DirFS(dir))
	}
	return t.Runtime.Bytecode(ctx, b)
}
