package cache

import (
	"context"
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
// file, and the first call comes right after it did. It gives the folders that
// are no longer the same. The tool has to fetch those again, after the caller
// has removed them, and Watch then says whether that helped.
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
	path, err := c.File(ctx, kind, key, func(ctx context.Context, w io.Writer) error {
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
		return nil, storageError("read", path, err)
	}
	m := new(manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	m.sum = manifestSum(text)
	if e.checkLarge(m, c.root) == nil && ctx.Err() == nil {
		return nil, nil
	}
	for i, root := range roots {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("compare %s: %w", dirs[i], cancelled(ctx))
		}
		if err := m.below(root).compare(c.root, checksums); err != nil {
			damaged = append(damaged, dirs[i])
		}
	}
	return damaged, nil
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
				return storageError("read", path, err)
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
