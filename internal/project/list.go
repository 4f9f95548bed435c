package project

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Entry is a directory, a file or a link of a list.
type Entry struct {
	Path string
	Info fs.FileInfo
	Link string // the target of a link
}

// List returns the entries of the directory, a directory before its entries and what is high
// before what is deep, max at most and whole directories only. Rest are the directories whose
// entries are not among them.
func (v *View) List(max int) (list []Entry, rest []string) {
	queue := []string{"."}
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		entries, err := v.ReadDir(dir)
		if err != nil {
			continue // nobody sees it
		}
		if len(list)+len(entries) > max {
			rest = append(rest, dir)
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

// Unseen returns what a directory of the view has on the host that it does not show, and
// whether that is all: it looks at max entries.
func (v *View) Unseen(dir string, max int) (names []string, all bool) {
	err := fs.WalkDir(v.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if max--; max < 0 {
			return fs.SkipAll
		}
		if err != nil {
			return nil
		}
		if v.Shows(name, d.IsDir()) {
			return nil
		}
		names = append(names, name)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return names, err == nil && max >= 0
}

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
