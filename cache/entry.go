package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	manifestName = "manifest"
	dataName     = "data"
)

// Dir returns the directory for kind and key. If it is not in the cache, build is
// called to fill the empty directory dir, which then becomes the entry. Only one
// caller among all processes builds at a time; the others wait and share the
// result. The files under path must not be changed; path is valid until the entry
// is removed.
//
// Kind is a short lower-case word; key is any text that changes whenever the
// result would. Build may create directories and regular files, including
// executable ones. If it returns an error, Dir returns it and keeps nothing.
func (c *Cache) Dir(ctx context.Context, kind, key string, build func(ctx context.Context, dir string) error) (path string, err error) {
	e, err := c.entry(Trees, kind, key)
	if err != nil {
		return "", err
	}
	return e.get(ctx, func(ctx context.Context, data string) error {
		if err := os.Mkdir(data, 0o700); err != nil {
			return NewStorageError("create", data, err)
		}
		return build(ctx, data)
	})
}

// File is [Cache.Dir] for a single file. The writer is an *os.File, so a build of
// a sparse file may seek in it or map it.
func (c *Cache) File(ctx context.Context, kind, key string, build func(ctx context.Context, w io.Writer) error) (path string, err error) {
	e, err := c.entry(Files, kind, key)
	if err != nil {
		return "", err
	}
	return e.get(ctx, func(ctx context.Context, data string) error {
		f, err := os.OpenFile(data, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return NewStorageError("create", data, err)
		}
		err = build(ctx, f)
		if cerr := f.Close(); err == nil {
			err = NewStorageError("write", data, cerr)
		}
		return err
	})
}

// entry is a tree or a file, which need not exist.
type entry struct {
	c         *Cache
	section   string // Trees or Files
	kind, key string
	dir       string // <root>/<section>/<kind>/<name>
	lockName  string
}

func (c *Cache) entry(section, kind, key string) (*entry, error) {
	if !validKind(kind) {
		return nil, fmt.Errorf("cache %s: kind %q: want lower-case letters, digits and hyphens", section, kind)
	}
	if key == "" {
		return nil, fmt.Errorf("cache %s %s: the key is empty", section, kind)
	}
	name := fileName(key)
	return &entry{
		c: c, section: section, kind: kind, key: key,
		dir:      filepath.Join(c.root, section, kind, name),
		lockName: entryLock(section, kind, name),
	}, nil
}

func entryLock(section, kind, name string) string { return section + "-" + kind + "-" + name }

func validKind(kind string) bool {
	if kind == "" || len(kind) > 40 || kind[0] == '-' {
		return false
	}
	return strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// maxName keeps lock names under the 255 bytes that file systems allow.
const maxName = 100

// fileName returns a path element for key that is unique on case-insensitive file
// systems, too. It is key itself if that needs no change.
func fileName(key string) string {
	plain := true
	slug := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-._+=@", r) {
			return r
		}
		plain = false
		return '-'
	}, key)
	if plain && len(key) <= maxName && key[0] != '.' && !strings.HasSuffix(key, ".") {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	if len(slug) > 40 {
		slug = slug[:40]
	}
	return strings.Trim(slug, "-.") + "~" + hex.EncodeToString(sum[:16])
}

// data returns the path that Dir and File return.
func (e *entry) data() string { return filepath.Join(e.dir, dataName) }

// get returns the entry's data, building it if it is not there or damaged.
func (e *entry) get(ctx context.Context, build func(ctx context.Context, data string) error) (string, error) {
	if e.check() == nil {
		return e.data(), nil
	}
	unlock, err := e.c.lock(ctx, e.lockName)
	if err != nil {
		return "", err
	}
	defer unlock()
	if e.check() == nil { // it was built while we waited
		return e.data(), nil
	}
	if err := ctx.Err(); err != nil {
		return "", ContextErr(ctx)
	}
	tmp, err := e.c.TempDir(e.kind)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	fresh := filepath.Join(tmp, "new")
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return "", NewStorageError("create", fresh, err)
	}
	if err := build(ctx, filepath.Join(fresh, dataName)); err != nil {
		return "", withHint(err)
	}
	if err := finish(fresh, e.kind, e.key); err != nil {
		return "", err
	}
	if err := e.install(fresh, filepath.Join(tmp, "old")); err != nil {
		return "", err
	}
	return e.data(), nil
}

// install renames the finished entry fresh to e.dir, after renaming an existing
// entry to old.
func (e *entry) install(fresh, old string) error {
	parent := filepath.Dir(e.dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return NewStorageError("create", parent, err)
	}
	// Without locks two builders may race: the last rename wins, and a loser
	// checks the winner's entry.
	if err := os.Rename(e.dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return NewStorageError("rename", e.dir, err)
	}
	if err := os.Rename(fresh, e.dir); err != nil {
		if e.check() == nil {
			return nil
		}
		return NewStorageError("rename", e.dir, err)
	}
	if err := syncDir(parent); err != nil {
		return err
	}
	return e.check()
}
