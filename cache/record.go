package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxRecorded bounds the files of one record.
const maxRecorded = 500_000

// Changed returns the dirs that differ from the first record for kind and key,
// which it creates if there is none. Dirs are tools' directories under the root:
// see [Cache.Path]. The key must identify what the tool put there, such as the
// digest of its lock file, and the first call must follow right after.
//
// A directory without files in the record is returned, too, and all are if the
// record is damaged. The caller removes those, has the tool fetch and verify them
// again, and calls [Cache.Record]. Added files are not detected.
func (c *Cache) Changed(ctx context.Context, kind, key string, dirs []string) (changed []string, err error) {
	roots, err := toolDirs(c.root, dirs)
	if err != nil {
		return nil, err
	}
	e, err := newEntry(c.root, Records, kind, key)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(e.dir); err == nil && c.verifier.entry(e, nil) != nil {
		return dirs, nil // the record itself is damaged
	}
	m, err := recorded(ctx, c, e, roots)
	if err != nil {
		return nil, err
	}
	same := c.verifier.unchanged(e.dir, m, c.root) == nil
	for i, root := range roots {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("compare %s: %w", root, ContextErr(ctx))
		}
		part := m.below(root)
		if len(part.Files) == 0 || !same && part.compare(c.root, checksumOf) != nil {
			changed = append(changed, dirs[i])
		}
	}
	return changed, nil
}

// Record replaces the record that Changed compares the directories with.
func (c *Cache) Record(ctx context.Context, kind, key string, dirs []string) error {
	roots, err := toolDirs(c.root, dirs)
	if err != nil {
		return err
	}
	e, err := newEntry(c.root, Records, kind, key)
	if err != nil {
		return err
	}
	if err := c.Remove(ctx, Entry{Section: Records, Kind: kind, Key: key, Path: e.dir, lock: e.lock}); err != nil {
		return err
	}
	_, err = recorded(ctx, c, e, roots)
	return err
}

// recorded returns the record e, which it creates if there is none.
func recorded(ctx context.Context, c *Cache, e *entry, roots []string) (*manifest, error) {
	path, err := c.get(ctx, e.section, e.kind, e.key, func(data string) error {
		return writeFile(data, func(f *os.File) error {
			m, err := record(ctx, c.root, roots)
			if err != nil {
				return err
			}
			c.evictor.grow(m.size())
			return json.NewEncoder(f).Encode(m)
		})
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
	m.sum = sumLine(text)
	return m, nil
}

// toolDirs returns the directories relative to the root.
func toolDirs(root string, dirs []string) ([]string, error) {
	var roots []string
	for _, dir := range dirs {
		rel, err := filepath.Rel(root, dir)
		top, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		if err != nil || !filepath.IsLocal(rel) || rel == "." || slices.Contains(sections, top) {
			return nil, fmt.Errorf("compare %s: it is not a tool's directory in this cache", dir)
		}
		roots = append(roots, filepath.ToSlash(rel))
	}
	return roots, nil
}

// record returns a manifest of the directories, with paths relative to base.
func record(ctx context.Context, base string, roots []string) (*manifest, error) {
	m := &manifest{Format: manifestFormat, Files: []manifestFile{}, Dirs: roots}
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join(base, root), func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // it was evicted meanwhile
			case err != nil:
				return NewStorageError("read", path, err)
			case ctx.Err() != nil:
				return ContextErr(ctx)
			case !d.Type().IsRegular():
				return nil
			case len(m.Files) == maxRecorded:
				return fmt.Errorf("record %s: more than %d files", root, maxRecorded)
			}
			rel, err := filepath.Rel(base, path)
			if err != nil {
				return err
			}
			f, err := describeFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a temporary file of the tool
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

// below returns the part of a record about one directory.
func (m *manifest) below(root string) *manifest {
	part := &manifest{}
	for _, f := range m.Files {
		if strings.HasPrefix(f.Path, root+"/") {
			part.Files = append(part.Files, f)
		}
	}
	return part
}
