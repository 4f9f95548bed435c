package deno

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coderunner/cache"
	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/codecache"
	"coderunner/runners/deno/process"
)

// writeEverywhere stands in for the Deno of a program, which has broken out of
// all that Deno forbids. It tries to write into the cache, everywhere.
func writeEverywhere() {
	_, _ = os.Stdin.Read(make([]byte, 1)) // of the setup: its directories are all there by then
	denoDir := os.Getenv("DENO_DIR")
	fetched, err := os.Readlink(filepath.Join(denoDir, "npm"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	list, err := os.ReadFile(filepath.Join(fetched, "registry", "one", "paths"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	own, tried := os.Getenv("TMPDIR"), 0
	var written []string
	try := func(name string, err error) {
		if tried++; err == nil {
			written = append(written, name)
		}
	}
	names := strings.Fields(string(list))
	for _, name := range append(names, filepath.Join(denoDir, "gen"), filepath.Join(denoDir, codecache.Names[0])) {
		try("into "+name, os.WriteFile(filepath.Join(name, "x"), []byte("x"), 0o600))
		try("directory "+name, os.Mkdir(filepath.Join(name, "y"), 0o700))
		try("link "+name, os.Symlink("x", filepath.Join(name, "z")))
		// A link leads to where it may write.
		if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err == nil {
				f.Close()
			}
			try("open "+name, err)
			try("cut "+name, os.Truncate(name, 1))
		}
		try("rename "+name, os.Rename(name, filepath.Join(own, "taken")))
		try("remove "+name, os.Remove(name))
	}
	if err := os.WriteFile(filepath.Join(own, "x"), []byte("x"), 0o600); err != nil {
		written = append(written, "not even its own: "+err.Error())
	}
	fmt.Fprintf(os.Stderr, "error: %d ways for each, written %q\n", tried/len(names), written)
	os.Exit(1)
}

// TestCacheIsReadOnly has native code in Deno's place.
func TestCacheIsReadOnly(t *testing.T) {
	if l := sandbox.Probe(); l.Name != sandbox.Full {
		t.Skipf("this kernel cannot do all of it: %s", l)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := New(process.Config{Cache: c, Binary: self})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// A set of packages, and what there would be for it and for another.
	v := process.Variant{Binary: self, Memory: runners.DefaultMemory, Ready: &process.Packages{NPM: true, Set: "one", Dirs: []string{filepath.Join(r.DenoDir, "npm", "registry", "one")}}}
	fill := func(_ context.Context, dir string) error {
		return os.WriteFile(filepath.Join(dir, codecache.Names[0]), []byte("code"), 0o600)
	}
	for _, row := range [][2]string{{codecache.Kind, r.CodeKey(v)}, {codecache.Kind, "another"}, {"deno-graph", "one"}} {
		dir, err := c.Dir(t.Context(), row[0], row[1], fill)
		if err != nil {
			t.Fatal(err)
		}
		if row[0] == "deno-graph" {
			v.Ready.Dir = dir
		}
	}
	for _, name := range []string{"npm/registry/one", "remote", "gen/https", "gen/file"} {
		dir := filepath.Join(r.DenoDir, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x.js"), []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var paths []string
	for _, root := range []string{c.Root(), r.RunDirs.Path} {
		if err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			paths = append(paths, name)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(r.DenoDir, "npm", "registry", "one", "paths"), []byte(strings.Join(paths, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, making := range []bool{false, true} {
		v.Making = making
		in := r.Launch(t.Context(), v)
		err := in.Await(t.Context(), unfilled)
		if err == nil || !strings.Contains(err.Error(), "error: 7 ways for each, written []") {
			t.Errorf("making %v: %v", making, err)
		}
		if spec := in.Confinement(); !slices.Equal(spec.Write, []string{in.Dir.Path}) {
			t.Errorf("making %v: it may write %q", making, spec.Write)
		} else if slices.ContainsFunc(spec.Read, func(name string) bool {
			return name != "" && strings.HasPrefix(filepath.Join(c.Root(), "trees", codecache.Kind), name)
		}) {
			t.Errorf("making %v: it may read other sets' databases: %q", making, spec.Read)
		}
		in.Discard()
	}
	r.Background.Wait(context.Background())
	if problems, err := c.Verify(t.Context()); err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
