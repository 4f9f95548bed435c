package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxWatched bounds the files under one call's folders.
const maxWatched = 500_000

// Watch compares folders that a tool keeps under the root, as [Cache.Path]
// gives them, with what was in them when it was called with this kind and key
// for the first time, by any process; that call records it. So the key has to
// stand for what the tool was told to put there, such as the digest of its lock
// file, and the first call comes right after it did.
//
// It gives the folders that are no longer the same, or of which that cannot be
// told because they were not there, or the record is damaged. The caller then
// removes those, has the tool fetch them again, and calls Watch again. What is
// there then came from a tool that has just verified it; if it still differs,
// the record was wrong, and is replaced. Folders that were not touched since are
// given again.
//
// The files are compared as those of a large entry are: by how they look from
// outside if they have been read within a day. Files that were added are not
// noticed.
func (c *Cache) Watch(ctx context.Context, kind, key string, dirs []string) (damaged []string, err error) {
	roots, err := c.watchable(dirs)
	if err != nil {
		return nil, err
	}
	e, err := c.entry(Files, kind, key)
	if err != nil {
		return nil, err
	}
	which, err := c.compareWatched(ctx, e, roots)
	if err != nil {
		return nil, err
	}
	if len(which) == 0 {
		c.forget(e.dir)
		return nil, nil
	}
	var bad []string
	for _, i := range which {
		bad, damaged = append(bad, roots[i]), append(damaged, dirs[i])
	}
	if !c.touched(e.dir, bad) {
		return damaged, nil
	}
	// The tool has fetched them anew.
	if err := c.Remove(ctx, Entry{Section: Files, Kind: kind, Key: key, Path: e.dir, lock: e.lockName}); err != nil {
		return nil, err
	}
	c.forget(e.dir)
	_, err = c.watched(ctx, e, roots)
	return nil, err
}

// compareWatched gives the numbers of the folders that are not as recorded.
func (c *Cache) compareWatched(ctx context.Context, e *entry, roots []string) (which []int, err error) {
	if _, err := os.Lstat(e.dir); err == nil && e.check() != nil {
		for i := range roots { // the record itself is damaged
			which = append(which, i)
		}
		return which, nil
	}
	m, err := c.watched(ctx, e, roots)
	if err != nil {
		return nil, err
	}
	same := e.checkLarge(m, c.root) == nil
	for i, root := range roots {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("compare %s: %w", root, cancelled(ctx))
		}
		part := m.below(root)
		if len(part.Files) == 0 || !same && part.compare(c.root, checksums) != nil {
			which = append(which, i)
		}
	}
	return which, nil
}

// watched gives what is recorded, recording what is there if nothing is.
func (c *Cache) watched(ctx context.Context, e *entry, roots []string) (*manifest, error) {
	path, err := c.File(ctx, e.kind, e.key, func(ctx context.Context, w io.Writer) error {
		m, err := c.record(ctx, roots)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(m)
	})
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, NewStorageError("read", path, err)
	}
	m := new(manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	m.sum = manifestSum(text)
	return m, nil
}

// touched reports whether all of these folders, which are damaged, were found so
// before and have been replaced since. It notes how they look.
func (c *Cache) touched(record string, roots []string) bool {
	c.damagedMu.Lock()
	defer c.damagedMu.Unlock()
	all, now := true, map[string]string{}
	for _, root := range roots {
		now[root] = c.look(root)
		was, again := c.damaged[record][root]
		all = all && again && was != now[root]
	}
	if c.damaged == nil {
		c.damaged = map[string]map[string]string{}
	}
	c.damaged[record] = now
	return all
}

// forget is for when nothing is damaged.
func (c *Cache) forget(record string) {
	c.damagedMu.Lock()
	defer c.damagedMu.Unlock()
	delete(c.damaged, record)
}

// look is a digest of how the files in a folder look from outside.
func (c *Cache) look(root string) string {
	h := sha256.New()
	_ = filepath.WalkDir(filepath.Join(c.root, root), func(path string, _ fs.DirEntry, err error) error {
		if s, serr := stampOf(path); err == nil && serr == nil {
			fmt.Fprintf(h, "%s %d %d %d\n", path, s.inode, s.modTime.UnixNano(), s.changed.UnixNano())
		}
		return nil // what is not there is not there
	})
	return hex.EncodeToString(h.Sum(nil))
}

// watchable gives the folders relative to the root.
func (c *Cache) watchable(dirs []string) ([]string, error) {
	var roots []string
	for _, dir := range dirs {
		rel, err := filepath.Rel(c.root, dir)
		top, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		if err != nil || !filepath.IsLocal(rel) || rel == "." || slices.Contains(sections, top) {
			return nil, fmt.Errorf("watch %s: it is not a tool's folder in this cache", dir)
		}
		roots = append(roots, filepath.ToSlash(rel))
	}
	return roots, nil
}

// record lists what is in the folders now, with paths relative to the root.
func (c *Cache) record(ctx context.Context, roots []string) (*manifest, error) {
	m := &manifest{Format: manifestFormat, Files: []manifestFile{}}
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join(c.root, root), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return NewStorageError("read", path, err)
			case ctx.Err() != nil:
				return cancelled(ctx)
			case !d.Type().IsRegular():
				return nil
			case len(m.Files) == maxWatched:
				return fmt.Errorf("watch %s: more than %d files", root, maxWatched)
			}
			rel, err := filepath.Rel(c.root, path)
			if err != nil {
				return err
			}
			f, err := hashFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a temporary file of the tool's
			}
			f.Path = filepath.ToSlash(rel)
			m.Files = append(m.Files, f)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// below is the part of a record that is about one folder.
func (m *manifest) below(root string) *manifest {
	part := &manifest{}
	for _, f := range m.Files {
		if strings.HasPrefix(f.Path, root+"/") {
			part.Files = append(part.Files, f)
		}
	}
	return part
}
