package cache

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTools(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	c := openAtOnce(t, root)
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
	changed := func(c *Cache, key string, want ...string) {
		t.Helper()
		damaged, err := c.Changed(ctx, "deno-npm", key, dirs)
		if err != nil || !slices.Equal(damaged, want) {
			t.Errorf("Changed %s = %q, %v; want %q", key, damaged, err, want)
		}
	}
	again := func(c *Cache, key string, fetched ...string) {
		t.Helper()
		fetch(fetched...)
		check(t, c.Record(ctx, "deno-npm", key, dirs))
		changed(c, key)
		changed(openAtOnce(t, root), key)
	}
	changed(c, "lock 1")
	e, err := newEntry(c.root, Records, "deno-npm", "lock 1")
	check(t, err)
	if _, err := readFingerprint(e.dir); err != nil {
		t.Errorf("no fingerprint: %v", err)
	}
	changed(openAtOnce(t, root), "lock 1")
	file := filepath.Join(dirs[1], "lib", "index.js")
	flip(t, file, 0)
	changed(c, "lock 1", dirs[1])
	changed(c, "lock 1", dirs[1]) // nothing was done about it
	changed(openAtOnce(t, root), "lock 1", dirs[1])
	again(c, "lock 1", dirs[1])

	// With a damaged record nothing is known, and what is there is not believed.
	record := e.data()
	for _, damage := range []func(){func() { flip(t, record, 3) }, func() { check(t, os.Truncate(filepath.Join(e.dir, manifestName), 9)) }} {
		flip(t, file, 0)
		damage()
		fresh := openAtOnce(t, root)
		changed(fresh, "lock 1", dirs...)
		changed(openAtOnce(t, root), "lock 1", dirs...)
		again(fresh, "lock 1", dirs...)
	}
	// A record that is wrong does not refuse for ever what the tool has verified.
	flip(t, file, 0)
	changed(c, "lock 2")
	fetch(dirs[1])
	changed(c, "lock 2", dirs[1])
	again(c, "lock 2", dirs[1])

	// A directory that was not there is not believed, either.
	other := c.Path("deno", "npm", "registry", "zod", "3.1.0")
	fetch(other)
	dirs = append(dirs, other)
	changed(c, "lock 1", other)
	again(c, "lock 1", other)
	dirs = dirs[:2]

	check(t, os.Truncate(filepath.Join(dirs[0], "package.json"), 0))
	check(t, os.Remove(file))
	changed(openAtOnce(t, root), "lock 1", dirs...)
	if problems, err := c.Verify(ctx); err != nil || len(problems) != 0 {
		t.Errorf("Verify: %v, %v", problems, err)
	}
	for _, dir := range []string{root, filepath.Dir(root), c.Path("trees", "x"), c.Path("blobs"), "deno"} {
		if _, err := c.Changed(ctx, "deno-npm", "elsewhere", []string{dir}); err == nil {
			t.Errorf("Changed(%s) is possible", dir)
		}
	}
	gone := []string{c.Path("deno", "gone")}
	if got, err := c.Changed(ctx, "deno-npm", "gone", gone); err != nil || !slices.Equal(got, gone) {
		t.Errorf("Changed of a directory that is not there: %q, %v", got, err)
	}
}
