package project

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Entry is a directory, a file or a link of a list.
type Entry struct {
	Path string
	Info fs.FileInfo
	Link string // the target of a link
}

// unlisted is a directory that is too much for a list.
type unlisted struct {
	dir    string
	read   bool // what follows is known
	shown  []fs.DirEntry
	hidden int
}

// list returns the entries of the directory, a directory before its entries and what is high
// before what is deep, max at most and whole directories only. Rest are the directories whose
// entries are not among them. It looks at some maxLooked.
func (v *View) list(max int) (list []Entry, rest []unlisted) {
	queue, looked := []string{"."}, 0
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		if looked > maxLooked {
			rest = append(rest, unlisted{dir: dir})
			continue
		}
		entries, hidden, err := v.readDir(dir)
		if err != nil {
			continue // nobody sees it
		}
		looked += len(entries) + hidden
		if len(list)+len(entries) > max {
			rest = append(rest, unlisted{dir, true, entries, hidden})
			continue
		}
		for _, d := range entries {
			e := Entry{Path: path.Join(dir, d.Name())}
			if e.Info, err = d.Info(); err != nil {
				continue // it has vanished
			}
			if d.Type() == fs.ModeSymlink {
				if e.Link, err = v.link(e.Path); err != nil {
					continue
				}
			}
			if list = append(list, e); d.IsDir() {
				queue = append(queue, e.Path)
			}
		}
	}
	return list, rest
}

// ReadDir implements [fs.ReadDirFS].
func (v *View) ReadDir(name string) ([]fs.DirEntry, error) {
	list, _, err := v.readDir(name)
	return list, err
}

// readDir is ReadDir and returns how many entries of the directory the rules hide.
func (v *View) readDir(name string) (list []fs.DirEntry, hidden int, err error) {
	if _, err := v.Lstat(name); err != nil {
		return nil, 0, err
	}
	dir, err := v.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	all, err := readEntries(dir)
	if err != nil {
		return nil, 0, err
	}
	list = make([]fs.DirEntry, 0, len(all))
	for _, e := range all {
		at := path.Join(name, e.Name())
		switch typ := e.Type(); {
		case !fs.ValidPath(at) || !v.showsEntry(at, e.Name(), e.IsDir()):
			hidden++
			continue
		case typ == fs.ModeSymlink:
			if _, err := v.link(at); err != nil {
				continue
			}
		case !typ.IsRegular() && !e.IsDir():
			continue
		}
		list = append(list, entry{e, v, at})
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, hidden, nil
}

// entry is an entry of a directory.
type entry struct {
	fs.DirEntry
	view *View
	name string
}

// Info implements [fs.DirEntry].
func (e entry) Info() (fs.FileInfo, error) { return e.view.root.Lstat(filepath.FromSlash(e.name)) }

// OpenFile opens a regular file for reading, and follows no link in the last element.
func (v *View) OpenFile(name string) (*os.File, error) {
	f, err := v.Open(name)
	if err != nil {
		return nil, err
	}
	return f.(*file).File, nil
}

// Host returns the path of a name on the host.
func (v *View) Host(name string) string { return filepath.Join(v.path, filepath.FromSlash(name)) }
