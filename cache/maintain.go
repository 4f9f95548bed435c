package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Entry is something in the cache.
type Entry struct {
	Section string    // Blobs, Trees, Files, Records or Tools
	Kind    string    // the algorithm of a blob, "" for a tool
	Key     string    // the hexadecimal digest of a blob, the directory of a tool
	Path    string    // the file or directory that Remove removes
	Size    int64     // bytes
	Used    time.Time // the last use, with a resolution of markEvery
	lock    string
}

// String returns a name of the entry for people.
func (e Entry) String() string {
	if e.Kind == "" {
		return e.Section + " " + e.Key
	}
	return e.Section + " " + e.Kind + " " + e.Key
}

// Counts reports whether the size of the entry counts against the limit of
// [Cache.Limit].
func (e Entry) Counts() bool { return e.Section != Tools || e.Key != Sessions }

// Problem is a damaged entry.
type Problem struct {
	Entry Entry
	Err   error
}

// List returns the blobs, trees, files, records and tools in the cache, each in the order
// of their names on disk. An entry whose manifest cannot be read is listed with
// its directory's name as the key. With kinds only trees and files of these are
// listed.
func (c *Cache) List(ctx context.Context, kinds ...string) ([]Entry, error) {
	var list []Entry
	for _, s := range []struct {
		section, dir string
		depth        int
	}{{Blobs, Blobs, 3}, {Trees, Trees, 2}, {Files, Files, 2}, {Records, Records, 2}, {Tools, ".", 1}} {
		if kinds != nil && s.depth != 2 {
			continue
		}
		err := eachPath(filepath.Join(c.root, s.dir), s.depth, func(path string, names []string) error {
			if kinds != nil && !slices.Contains(kinds, names[0]) {
				return ctx.Err()
			}
			info, err := os.Lstat(path)
			if err != nil || info.IsDir() == (s.section == Blobs) || !info.IsDir() && !info.Mode().IsRegular() {
				return ctx.Err() // removed meanwhile, or nothing of ours
			}
			e := Entry{Section: s.section, Kind: names[0], Key: names[len(names)-1], Path: path, Used: info.ModTime()}
			switch s.section {
			case Blobs:
				e.Size, e.lock = info.Size(), blobLock(Digest{e.Kind, e.Key})
			case Tools:
				if slices.Contains(sections, e.Key) {
					return nil
				}
				e.Kind = ""
				e.Size = DiskUse(ctx, path)
			default:
				e.lock = entryLock(e.Section, e.Kind, e.Key)
				if m, err := readManifest(path); err == nil {
					e.Key, e.Size = m.Key, m.size()
				}
			}
			list = append(list, e)
			return ctx.Err()
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", c.root, err)
		}
	}
	return list, nil
}

// eachPath calls visit for each file or directory depth levels below dir, with the
// names of its path below dir. A missing dir has none.
func eachPath(dir string, depth int, visit func(path string, names []string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return NewStorageError("read", path, err)
		}
		rel, err := filepath.Rel(dir, path)
		if names := strings.Split(filepath.ToSlash(rel), "/"); err != nil || rel == "." || len(names) < depth {
			return err
		} else if err := visit(path, names); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
}

// DiskUse returns the total size of the files under dir. A file with several names
// there counts once, where the system tells.
func DiskUse(ctx context.Context, dir string) (total int64) {
	seen := map[fileID]bool{}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, ierr := d.Info(); ierr == nil {
				id, linked := linkedFile(info)
				if linked && seen[id] {
					return ctx.Err()
				}
				if linked {
					seen[id] = true
				}
				total += info.Size()
			}
		}
		return ctx.Err() // unreadable and removed files have no size
	})
	return total
}

// Remove removes an entry that [Cache.List] returned. Open and mapped files stay
// readable; its path is invalid until the entry is built again.
func (c *Cache) Remove(ctx context.Context, e Entry) error {
	if rel, err := filepath.Rel(c.root, e.Path); err != nil || !filepath.IsLocal(rel) || rel == "." {
		return fmt.Errorf("remove %s: %s is not in this cache", e, e.Path)
	}
	if e.lock != "" {
		unlock, err := c.locks.take(ctx, e.lock)
		if err != nil {
			return err
		}
		defer unlock()
	}
	tmp, err := c.TempDir("remove")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// Renamed in one step, so that no process sees half an entry.
	if err := os.Rename(e.Path, filepath.Join(tmp, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return NewStorageError("remove", e.Path, err)
	}
	return NewStorageError("remove", tmp, os.RemoveAll(tmp))
}

// Prune removes the blobs, trees and files that were not used for the duration
// unused, and returns them. Paths that processes hold become invalid, so unused
// should be longer than any process lives. It also removes those of the kinds runtimes
// whose version is no longer in force, see [Cache.Limit], but for what a process uses.
func (c *Cache) Prune(ctx context.Context, unused time.Duration, runtimes ...string) ([]Entry, error) {
	before := time.Now().Add(-unused)
	list, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	kinds, used := runtimeKinds(runtimes), c.usedByOthers()
	stays := kinds.inForce(list)
	return removeAll(ctx, c, func(e Entry) bool {
		_, inUse := used[e.Path]
		return e.Section != Tools && e.Used.Before(before) || kinds.name(e) != "" && !stays(e) && !inUse
	})
}

// Clear removes everything but [Sessions], locks and temporary directories, and
// returns the removed entries. Tools' directories that are among keep, or have one of
// these in them, stay, too. Paths that other processes hold become invalid.
func (c *Cache) Clear(ctx context.Context, keep ...string) ([]Entry, error) {
	return removeAll(ctx, c, func(e Entry) bool {
		return e.Counts() && !slices.ContainsFunc(keep, func(dir string) bool { return isAbove(e.Path, dir) })
	})
}

// isAbove reports whether dir is path or is in it, also by way of symlinks.
func isAbove(path, dir string) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil || dir == "" {
		return false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false
	}
	rel, err := filepath.Rel(path, dir)
	return err == nil && filepath.IsLocal(rel)
}

func removeAll(ctx context.Context, c *Cache, which func(Entry) bool) (removed []Entry, err error) {
	list, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if !which(e) {
			continue
		}
		if err := c.Remove(ctx, e); err != nil {
			return removed, err
		}
		removed = append(removed, e)
	}
	return removed, nil
}
