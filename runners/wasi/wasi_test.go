package wasi_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/testcache"
	"coderunner/internal/versions"
	"coderunner/pyodide/wasmbin"
	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/python"
	"coderunner/runners/wasi"
	"coderunner/runners/wasi/engine"
)

// newRunners returns the runners of all languages, and bash, whose scripts start them.
func newRunners(t testing.TB) map[runners.Language]runners.Runner {
	t.Helper()
	c, err := cache.Open(testcache.Dir())
	if err != nil {
		t.Fatal(err)
	}
	f := fetch.New(c, fetch.Options{Offline: testing.Short()})
	e := engine.New(engine.Config{Files: c, Fetch: func(ctx context.Context, p fetch.NPMPackage, progress fetch.ProgressFunc) (string, error) {
		p.Registry = cmp.Or(os.Getenv("NPM_CONFIG_REGISTRY"), versions.NPMRegistry)
		return f.NPM(ctx, p, progress)
	}})
	g := wasi.New(e, nil)
	p, err := python.New(python.Config{Cache: c, Offline: testing.Short(), Guests: g})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		if err := errors.Join(p.Close(), e.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	b := bash.New(bash.Config{Machine: func(ctx context.Context, s bash.Script) (*bash.Machine, error) {
		m, err := p.Machine(ctx, python.MachineOptions(s))
		if err != nil {
			return nil, err
		}
		return &bash.Machine{FS: m.FS, Kernel: m.Kernel, Network: m.Network, Close: m.Close, Prepared: m.Prepared}, nil
	}})
	all := map[runners.Language]runners.Runner{runners.Bash: b}
	for l, r := range g.Runners(b) {
		all[l] = r
	}
	return all
}

// TestTables looks for instructions that change a table in the modules of languages, whose
// instances are reused with their tables as they are.
func TestTables(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	c, err := cache.Open(testcache.Dir())
	if err != nil {
		t.Fatal(err)
	}
	f := fetch.New(c, fetch.Options{})
	defer func() {
		f.Close()
		c.Close()
	}()
	for file, p := range map[string]fetch.NPMPackage{
		versions.RubyModule: versions.Ruby(), versions.PHPModule: versions.PHP(), versions.PerlModule: versions.Perl(),
		versions.QuickJSModule: versions.QuickJS(), versions.ClangModule: versions.Clang(),
	} {
		p.Registry = cmp.Or(os.Getenv("NPM_CONFIG_REGISTRY"), versions.NPMRegistry)
		dir, err := f.NPM(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		wasm, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		m, err := wasmbin.Parse(wasm)
		if err != nil {
			t.Fatal(err)
		}
		for i, body := range m.Bodies {
			code := m.CodeOf(wasm, body, m.FuncType(uint32(m.ImportedFuncs+i)))
			for in := (wasmbin.Instr{}); code.Next(&in); {
				if in.Op == wasmbin.OpTableSet || in.Op == wasmbin.PrefixMisc && in.Sub >= wasmbin.MiscTableInit && in.Sub != wasmbin.MiscTableSize {
					t.Fatalf("%s, function %d changes a table", file, i)
				}
			}
			if err := code.Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
