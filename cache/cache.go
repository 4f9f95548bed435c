package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"coderunner/internal/procdir"
)

// Cache is an open cache directory. Its methods are safe for concurrent use, by
// goroutines and by processes.
type Cache struct {
	process
	locks    locks
	verifier verifier
	evictor  evictor
	syncer   syncer
	unusable error        // why root is not the requested directory
	private  *procdir.Dir // not nil when root is temporary and removed by Close
}

// Open opens the cache in dir, creating it if need be, and removes the temporary
// files of dead processes there. An empty dir is the directory coderunner in the
// user's cache directory.
//
// If dir cannot be created or written, Open makes a private cache in the system's
// temporary directory, which Close removes, and [Cache.Warning] reports it. It
// returns an error if that fails, too.
func Open(dir string) (*Cache, error) {
	root, err := chooseRoot(dir)
	if err == nil {
		var c *Cache
		if c, err = openRoot(root); err == nil {
			writeTag(root)
			return c, nil
		}
	}
	private, perr := procdir.Make("", privatePrefix)
	if perr == nil {
		var c *Cache
		if c, perr = openRoot(private.Path()); perr == nil {
			c.private, c.unusable = private, err
			return c, nil
		}
		_ = private.Remove()
	}
	return nil, fmt.Errorf("open cache: %w (nor is a temporary one possible: %w)", err, NewStorageError("create", os.TempDir(), perr))
}

const privatePrefix = "coderunner-cache-"

// chooseRoot returns the absolute path of dir, or of the default, and creates it.
func chooseRoot(dir string) (string, error) {
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the user's cache directory: %w; hint: set CODE_RUNNER_CACHE_DIR", err)
		}
		dir = filepath.Join(base, "coderunner")
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("locate cache %s: %w", dir, err)
	}
	return root, NewStorageError("create", root, os.MkdirAll(root, 0o700))
}

// openRoot opens root, if files can be created and renamed there.
func openRoot(root string) (*Cache, error) {
	c := &Cache{process: process{root: root}, locks: locks{root: root}}
	c.verifier = verifier{settleTime: settleTime, tempDir: c.TempDir}
	c.evictor.c = c
	c.syncer.flush = flush
	return c, c.register()
}

// writeTag marks the root for backup programs (https://bford.info/cachedir/).
// Failures are ignored.
func writeTag(root string) {
	name := filepath.Join(root, "CACHEDIR.TAG")
	if _, err := os.Lstat(name); err == nil {
		return
	}
	tag := "Signature: 8a477f597d28d172789f06886806bc55\n# The cache of coderunner. It may be deleted when no coderunner runs.\n"
	_ = os.WriteFile(name, []byte(tag), 0o600)
}

// Close waits until the disk has what was built, and removes this Cache's temporary files. No
// other method may be running. Closing twice is fine.
func (c *Cache) Close() error {
	c.evictor.work.Wait()
	err := errors.Join(c.syncer.wait(), c.process.close())
	if c.private != nil {
		err = errors.Join(err, NewStorageError("remove", c.root, c.private.Remove()))
		c.private = nil
	}
	return err
}

// Root returns the absolute path of the cache directory.
func (c *Cache) Root() string { return c.root }

// Warning returns why the cache is a private one that ends with this process, ""
// if it is not.
func (c *Cache) Warning() string {
	if c.unusable == nil {
		return ""
	}
	return fmt.Sprintf("%v; using %s until this process ends: everything is fetched and compiled again each time", c.unusable, c.root)
}

// Unusable returns the error behind [Cache.Warning], or nil.
func (c *Cache) Unusable() error { return c.unusable }

// Path returns a path inside the root, for tools with their own caches
// (Path("deno")). Nothing is created, and no elem leads out of the root.
func (c *Cache) Path(elem ...string) string {
	inside := filepath.Join(append([]string{string(filepath.Separator)}, elem...)...)
	return filepath.Join(c.root, inside)
}

// Users returns the processes that have the cache open, without this Cache's own. It
// returns none on file systems without locks.
func (c *Cache) Users() (pids []int) {
	for _, dir := range c.others() {
		pids = append(pids, procdir.PID(dir, ""))
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}
