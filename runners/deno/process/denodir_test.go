package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDenoDir has temporary directories whose names are those of links, and others. What Deno
// writes of the program is in the run's directory, and what it reads of packages in the cache.
func TestDenoDir(t *testing.T) {
	shared := t.TempDir()
	for _, name := range fetched {
		if err := os.MkdirAll(filepath.Join(shared, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, plain := range map[string]bool{
		"": true, "a b": true, "r0/d0": true, "gen/file": true, "x/x": true, "workx": true,
		"work": false, "NPM/x": false, "file/http": false, "x/location_data": false, "v8_code_cache_v2": false,
		strings.Repeat("d/", maxParts): false,
	} {
		temp := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(temp, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", temp)
		all, err := OpenRunDirs(nil, false)
		if err != nil {
			t.Fatal(err)
		}
		defer all.Close()
		f, err := all.Take()
		if err == nil {
			err = f.Complete()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, packages := range []bool{false, true, false} {
			for range 2 {
				if err := f.link(shared, packages); err != nil {
					t.Fatal(err)
				}
				if err := f.linkGen(); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(genIn(f.denoDir(), f.Work()), "x.ts.js"), nil, 0o600); err != nil {
				t.Error(err)
			}
			if err := os.Remove(filepath.Join(f.gen(), "x.ts.js")); err != nil {
				t.Error(err)
			}
			if to, err := filepath.EvalSymlinks(filepath.Join(f.denoDir(), storageName)); to != f.gen() {
				t.Errorf("%q: storage is in %s, %v", name, to, err)
			}
			for _, name := range fetched {
				want, _ := filepath.EvalSymlinks(filepath.Join(shared, name))
				if to, err := filepath.EvalSymlinks(filepath.Join(f.denoDir(), name)); f.packages && to != want {
					t.Errorf("%s is %s, %v", name, to, err)
				}
			}
			entries, err := os.ReadDir(f.denoDir())
			if hasDir := slices.ContainsFunc(entries, os.DirEntry.IsDir); err != nil || hasDir == plain {
				t.Errorf("%q: the DENO_DIR has %v, %v", name, entries, err)
			}
		}
	}
}
