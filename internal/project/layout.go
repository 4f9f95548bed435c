package project

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds of what is copied.
const (
	maxCopied      = 5000     // entries
	maxCopiedBytes = 64 << 20 // of all files
	maxInPlace     = 1000     // links
	maxLooked      = 200_000  // entries that are read for a list, and of what is read in place
)

// Layout is how a process of the host finds a project in a directory of its own: as copies, and
// what is too much to copy as links to the originals, which it may read.
type Layout struct {
	view    *View
	Copies  []Entry
	links   []string // files and directories that are read in place
	made    []string // directories that have such links
	omitted []string // what is not there
	looked  int      // entries of directories that are read in place
	Note    string   // says what is read in place, a sentence; "" if nothing is
}

// NewLayout returns the layout of a project, nil if there is none.
func NewLayout(v *View) *Layout {
	if v == nil {
		return nil
	}
	l := &Layout{view: v}
	list, rest := v.list(maxCopied)
	bySize := make([]*Entry, 0, len(list))
	for i := range list {
		if list[i].Info.Mode().IsRegular() {
			bySize = append(bySize, &list[i])
		}
	}
	slices.SortStableFunc(bySize, func(a, b *Entry) int { return int(min(1, max(-1, a.Info.Size()-b.Info.Size()))) })
	left, tooMuch := int64(maxCopiedBytes), map[string]bool{}
	for _, e := range bySize {
		if left -= e.Info.Size(); left >= 0 {
			continue
		}
		if tooMuch[e.Path] = true; len(l.links) < maxInPlace {
			l.links = append(l.links, e.Path)
		} else {
			l.omitted = append(l.omitted, e.Path)
		}
	}
	for _, e := range list {
		if !tooMuch[e.Path] && !slices.ContainsFunc(rest, func(d unlisted) bool { return d.dir == e.Path }) {
			l.Copies = append(l.Copies, e)
		}
	}
	for _, d := range rest {
		if l.inPlace(d) {
			l.links = append(l.links, d.dir)
		}
	}
	if len(l.omitted) > 0 {
		l.Note = "The project has too many files: the program does not see " + l.omitted[0] + "; --allow-read shows it the original."
	} else if len(l.links) > 0 {
		slices.Sort(l.links)
		l.Note = "The project is too large to copy: what it has in " + l.links[0]
		if len(l.links) > 1 {
			l.Note += " and other places"
		}
		l.Note += " is read in place, and cannot be changed."
	}
	return l
}

// Key returns a text that differs where Grants may.
func (l *Layout) Key() string {
	if l == nil || len(l.links) == 0 {
		return ""
	}
	return strings.Join(append([]string{l.view.Path()}, l.links...), "\x00")
}

// Grants returns what a process may read of the host.
func (l *Layout) Grants() (read []string) {
	if l == nil {
		return nil
	}
	for _, name := range l.links {
		read = append(read, l.view.Host(name))
	}
	return read
}

// inPlace has a directory read in place and returns true if a link to it is enough. Where it has
// something that the view does not show, it gets a link for each entry; and where that is too
// much, it is left out. Each directory is read once.
func (l *Layout) inPlace(d unlisted) (whole bool) {
	made, links, omitted := len(l.made), len(l.links), len(l.omitted)
	var err error
	if !d.read && l.looked <= maxLooked {
		d.shown, d.hidden, err = l.view.readDir(d.dir)
	}
	l.looked += len(d.shown) + d.hidden
	if err != nil || l.looked > maxLooked {
		l.omitted = append(l.omitted, d.dir)
		return false
	}
	l.made = append(l.made, d.dir)
	whole = d.dir != "." && d.hidden == 0
	for _, e := range d.shown {
		at := path.Join(d.dir, e.Name())
		if e.IsDir() && !l.inPlace(unlisted{dir: at}) {
			whole = false
		} else if e.IsDir() || e.Type().IsRegular() {
			l.links = append(l.links, at)
		}
	}
	switch {
	case whole:
		l.made, l.links = l.made[:made], l.links[:links]
	case len(l.links) > maxInPlace:
		l.made, l.links, l.omitted = l.made[:made], l.links[:links], append(l.omitted[:omitted], d.dir)
	}
	return whole
}

// stamp is how a file was when it was put into a working directory.
type stamp struct {
	mode  fs.FileMode
	size  int64
	mtime time.Time
}

func stampOf(info fs.FileInfo) stamp {
	if info.Mode().Type() == fs.ModeSymlink {
		return stamp{mode: info.Mode()}
	}
	return stamp{info.Mode(), info.Size(), info.ModTime()}
}

// Placed is what Place has put into a directory.
type Placed map[string]stamp

// Place puts a project into a directory, but for the files that it has already.
func (l *Layout) Place(root *os.Root) (Placed, error) {
	if l == nil {
		return nil, nil
	}
	p := make(Placed, len(l.Copies)+len(l.links))
	for _, e := range l.Copies {
		name := filepath.FromSlash(e.Path)
		var err error
		switch {
		case e.Info.IsDir():
			err = root.Mkdir(name, 0o700)
		case e.Link != "":
			err = root.Symlink(filepath.FromSlash(e.Link), name)
		default:
			err = copyFile(root, l.view, e)
		}
		if err := p.note(root, e.Path, err); err != nil {
			return p, err
		}
	}
	for _, name := range l.made {
		if err := root.MkdirAll(filepath.FromSlash(name), 0o700); err != nil {
			return p, err
		}
	}
	for _, name := range l.links {
		err := root.Symlink(l.view.Host(name), filepath.FromSlash(name))
		if err := p.note(root, name, err); err != nil {
			return p, err
		}
	}
	return p, nil
}

// note notes what was placed, unless it was there before or has vanished.
func (p Placed) note(root *os.Root, name string, err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	info, statErr := root.Lstat(filepath.FromSlash(name))
	if err = errors.Join(err, statErr); err == nil && !info.IsDir() {
		p[name] = stampOf(info)
	}
	return err
}

// Restamp takes a file that Place has made for unchanged.
func (p Placed) Restamp(root *os.Root, name string) {
	if _, placed := p[name]; !placed {
		return
	}
	if info, err := root.Lstat(filepath.FromSlash(name)); err == nil {
		p[name] = stampOf(info)
	}
}

// copyFile copies a file of a project, by reference where the file system can.
func copyFile(root *os.Root, v *View, e Entry) error {
	from, err := v.OpenFile(e.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	name := filepath.FromSlash(e.Path)
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.Info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.LimitReader(from, e.Info.Size()))
	if err = errors.Join(err, to.Close()); err == nil {
		err = root.Chtimes(name, e.Info.ModTime(), e.Info.ModTime())
	}
	return err
}

// changed is a directory as Placed.Changed returns it.
type changed struct {
	fs.FS
	placed Placed
}

// Changed returns a directory without what was placed there and is as it was.
func (p Placed) Changed(dir fs.FS) fs.FS {
	if len(p) == 0 {
		return dir
	}
	return changed{dir, p}
}

// ReadLink and Lstat implement [fs.ReadLinkFS].
func (c changed) ReadLink(name string) (string, error)   { return fs.ReadLink(c.FS, name) }
func (c changed) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(c.FS, name) }

// ReadDir implements [fs.ReadDirFS].
func (c changed) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(c.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		was, placed := c.placed[path.Join(name, e.Name())]
		if !placed {
			return false
		}
		info, err := e.Info()
		return err == nil && stampOf(info) == was
	}), err
}
