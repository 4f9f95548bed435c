package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"coderunner/internal/procdir"
)

// Cache is an open cache directory. Its methods are safe for concurrent use, by
// goroutines and by processes.
type Cache struct {
	root     string
	warning  string
	unusable error        // why root is not the requested directory
	private  *procdir.Dir // not nil when root is temporary and removed by Close
	locks    keyedSemaphore

	ownerMu sync.Mutex
	owner   *procdir.Dir // under tmp

	verified   verified
	settleTime time.Duration // see verify.go; a field so that tests need not wait
}

// Open opens the cache in dir, creating it if need be, and removes the temporary
// files of dead processes there. An empty dir is the directory coderunner in the
// user's cache directory.
//
// If dir cannot be created or written, Open makes a private cache in the system's
// temporary directory, which Close removes, and [Cache.Warning] reports it. It
// returns an error if that fails, too.
func Open(dir string) (*Cache, error) {
	c := &Cache{settleTime: settleTime}
	err := c.openRoot(dir)
	if err == nil {
		return c, nil
	}
	if perr := c.openPrivate(); perr != nil {
		return nil, fmt.Errorf("open cache: %w (nor is a temporary one possible: %w)", err, perr)
	}
	c.unusable = err
	c.warning = fmt.Sprintf("%v; using %s until this process ends: everything is fetched and compiled again each time", err, c.root)
	return c, nil
}

// openRoot makes dir the root, if files can be created and renamed there.
func (c *Cache) openRoot(dir string) error {
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("find the user's cache directory: %w; hint: set CODE_RUNNER_CACHE_DIR", err)
		}
		dir = filepath.Join(base, "coderunner")
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("locate cache %s: %w", dir, err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return NewStorageError("create", root, err)
	}
	c.root = root
	if err := c.register(); err != nil {
		c.root = ""
		return err
	}
	c.writeTag()
	return nil
}

// writeTag marks the root for backup programs (https://bford.info/cachedir/).
// Failures are ignored.
func (c *Cache) writeTag() {
	name := filepath.Join(c.root, "CACHEDIR.TAG")
	if _, err := os.Lstat(name); err == nil {
		return
	}
	tag := "Signature: 8a477f597d28d172789f06886806bc55\n# The cache of coderunner. It may be deleted when no coderunner runs.\n"
	_ = os.WriteFile(name, []byte(tag), 0o600)
}

// Close removes this Cache's temporary files. No other method may be running.
// Closing twice is fine.
func (c *Cache) Close() error {
	c.ownerMu.Lock()
	defer c.ownerMu.Unlock()
	var errs []error
	for _, d := range []*procdir.Dir{c.owner, c.private} {
		if d != nil {
			errs = append(errs, NewStorageError("remove", d.Path(), d.Remove()))
		}
	}
	c.owner, c.private = nil, nil
	return errors.Join(errs...)
}

// Root returns the absolute path of the cache directory.
func (c *Cache) Root() string { return c.root }

// Warning returns why the cache is a private one that ends with this process, ""
// if it is not.
func (c *Cache) Warning() string { return c.warning }

// Unusable returns the error behind [Cache.Warning], or nil.
func (c *Cache) Unusable() error { return c.unusable }

// Path returns a path inside the root, for tools with their own caches
// (Path("deno")). Nothing is created, and no elem leads out of the root.
func (c *Cache) Path(elem ...string) string {
	inside := filepath.Join(append([]string{string(filepath.Separator)}, elem...)...)
	return filepath.Join(c.root, inside)
}

// syncDir makes renames inside dir survive a power cut. Not every system can open
// a directory for that, so a failure to open is ignored.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !syncUnsupported(err) {
		return NewStorageError("sync", dir, err)
	}
	return nil
}
