package cache

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"coderunner/internal/recent"
)

// DirFS is [os.DirFS] of a directory that Dir has returned, or of one below, or of the one of
// what File has returned, for processes
// that may read the files of trees and list no directories, too: see [ReadDir].
func DirFS(dir string) fs.FS { return treeFS{os.DirFS(dir).(dirFS), dir} }

// dirFS is what os.DirFS returns.
type dirFS interface {
	fs.StatFS
	fs.ReadFileFS
	fs.ReadLinkFS
}

type treeFS struct {
	dirFS
	dir string
}

// ReadDir implements [fs.ReadDirFS].
func (t treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	return ReadDir(filepath.Join(t.dir, filepath.FromSlash(name)))
}

// ReadDir is [os.ReadDir] of a directory of a tree. A process that may not list it has the
// names of the tree's manifest.
func ReadDir(dir string) ([]fs.DirEntry, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		if known, merr := fromManifest(dir); merr == nil {
			return known, nil
		}
	}
	return list, err
}

// fromManifest returns what ReadDir does, by the manifest of the entry that the directory is
// in. Directories without files are in none.
func fromManifest(dir string) ([]fs.DirEntry, error) {
	for at, below := filepath.Clean(dir), "."; at != filepath.Dir(at); at, below = filepath.Dir(at), path.Join(filepath.Base(at), below) {
		if filepath.Base(at) == dataName {
			if dirs, err := listed(filepath.Dir(at)); err == nil {
				return entriesOf(dir, dirs[below])
			}
		}
	}
	if list, err := entriesOf(dir, []string{dataName}); len(list) > 0 { // a file's entry
		return list, err
	}
	return nil, fs.ErrNotExist
}

// listings are the names in the directories of entries, by the entry and the directory.
var listings = recent.Map[string, map[string][]string]{Weigh: func(dirs map[string][]string) (n int) {
	for dir, names := range dirs {
		n += len(dir) + 64*len(names)
	}
	return n
}}

// listed returns the names in each directory of an entry.
func listed(entry string) (map[string][]string, error) {
	if dirs, ok := listings.Get(entry); ok {
		return dirs, nil
	}
	m, err := readManifest(entry)
	if err != nil {
		return nil, err
	}
	dirs := map[string][]string{}
	for _, f := range m.Files {
		for name := f.Path; name != "."; name = path.Dir(name) {
			names := dirs[path.Dir(name)]
			if len(names) > 0 && names[len(names)-1] == path.Base(name) {
				break // so are those above
			}
			dirs[path.Dir(name)] = append(names, path.Base(name))
		}
	}
	for dir, names := range dirs {
		slices.Sort(names)
		dirs[dir] = slices.Compact(names)
	}
	listings.Put(entry, dirs)
	return dirs, nil
}

// entriesOf returns entries of a directory by their names. What is not there is left out.
func entriesOf(dir string, names []string) (list []fs.DirEntry, err error) {
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err == nil {
			list = append(list, fs.FileInfoToDirEntry(info))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return list, err
		}
	}
	return list, nil
}
