package cache

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWatch(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	c := openSealing(t, root)
	var dirs []string
	fetch := func(dirs ...string) { // as the tool does it
		t.Helper()
		for _, dir := range dirs {
			check(t, os.RemoveAll(dir))
			check(t, os.MkdirAll(filepath.Join(dir, "lib"), 0o700))
			check(t, os.WriteFile(filepath.Join(dir, "lib", "index.js"), payload, 0o600))
			check(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(filepath.Base(dir)), 0o600))
		}
	}
	for _, name := range []string{"zod/3.0.0", "lodash/4.0.0"} {
		dirs = append(dirs, c.Path("deno", "npm", "registry", filepath.FromSlash(name)))
	}
	fetch(dirs...)
	watch := func(c *Cache, key string, want ...string) {
		t.Helper()
		damaged, err := c.Watch(ctx, "deno-npm", key, dirs)
		if err != nil || !slices.Equal(damaged, want) {
			t.Errorf("Watch %s = %q, %v; want %q", key, damaged, err, want)
		}
	}
	watch(c, "lock 1")
	e, err := c.entry(Files, "deno-npm", "lock 1")
	check(t, err)
	if _, err := readSeal(e.dir); err != nil {
		t.Errorf("no seal: %v", err)
	}
	watch(openSealing(t, root), "lock 1")
	file := filepath.Join(dirs[1], "lib", "index.js")
	flip(t, file, 0)
	watch(c, "lock 1", dirs[1])
	watch(c, "lock 1", dirs[1]) // nothing was done about it
	watch(openSealing(t, root), "lock 1", dirs[1])
	fetch(dirs[1])
	watch(c, "lock 1")
	watch(openSealing(t, root), "lock 1")

	// With a damaged record nothing is known, and what is there is not believed.
	record := e.data()
	for _, damage := range []func(){func() { flip(t, record, 3) }, func() { check(t, os.Truncate(filepath.Join(e.dir, manifestName), 9)) }} {
		flip(t, file, 0)
		damage()
		fresh := openSealing(t, root)
		watch(fresh, "lock 1", dirs...)
		watch(openSealing(t, root), "lock 1", dirs...)
		fetch(dirs...)
		watch(fresh, "lock 1")
		watch(openSealing(t, root), "lock 1")
	}
	// A record that is wrong does not refuse for ever what the tool has verified.
	flip(t, file, 0)
	watch(c, "lock 2")
	fetch(dirs[1])
	watch(c, "lock 2", dirs[1])
	fetch(dirs[1])
	watch(c, "lock 2")
	watch(openSealing(t, root), "lock 2")

	// A folder that was not there is not believed, either.
	other := c.Path("deno", "npm", "registry", "zod", "3.1.0")
	fetch(other)
	dirs = append(dirs, other)
	watch(c, "lock 1", other)
	fetch(other)
	watch(c, "lock 1")
	watch(openSealing(t, root), "lock 1")
	dirs = dirs[:2]

	check(t, os.Truncate(filepath.Join(dirs[0], "package.json"), 0))
	check(t, os.Remove(file))
	watch(openSealing(t, root), "lock 1", dirs...)
	if problems, err := c.Verify(ctx); err != nil || len(problems) != 0 {
		t.Errorf("Verify: %v, %v", problems, err)
	}
	for _, dir := range []string{root, filepath.Dir(root), c.Path("trees", "x"), c.Path("blobs"), "deno"} {
		if _, err := c.Watch(ctx, "deno-npm", "elsewhere", []string{dir}); err == nil {
			t.Errorf("Watch(%s) is possible", dir)
		}
	}
	if _, err := c.Watch(ctx, "deno-npm", "missing", []string{c.Path("deno", "missing")}); err == nil {
		t.Error("Watch of a folder that is not there")
	}
}
