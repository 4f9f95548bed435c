// Package project is a directory of the host as a program sees it: everything but hidden
// files, what version control ignores, and what tools install and cache. It only reads.
//
// A [View] is an [fs.FS], which memfs mounts for Python and bash ([memfs.FS.MountCopy]) and
// runners/deno copies. What the program changes is kept by them.
//
// # How nothing else is seen
//
// Names go through an [os.Root], so no link leads out of the directory. A link is shown by
// the name that it has there, and only if that is shown. Sockets, pipes and devices are not
// there. Every element of a name must pass the rules, unless the caller has named it.
//
// # Consistency
//
// A file that changes while it is open fails with ESTALE rather than showing a part of
// either state. One that is replaced keeps what it had, as elsewhere.
//
// # Limits
//
// A file that version control tracks although a pattern ignores it is not seen, for the
// index is not read; nor is the user's own core.excludesFile.
//
// # Testing
//
// The patterns are compared with git check-ignore.
package project

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"coderunner/internal/machine/abi"
)

// View is a directory as a program sees it. It is safe for concurrent use.
type View struct {
	// Program is the path of the program's file in the directory, "" if it has none, and
	// Dir its working directory there.
	Program, Dir string

	root  *os.Root
	path  string   // of root, without symbolic links
	named []named  // are shown besides
	only  bool     // nothing else is
	hides []string // are not
	above []ignoreFile

	mu      sync.Mutex
	ignores map[string][]pattern // of the .gitignore in a directory
	missed  missed
}

// Open returns a view of a directory without the directories hides, which are absolute.
func Open(dir string, hides ...string) (*View, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	v := &View{Dir: ".", root: root, path: dir, ignores: map[string][]pattern{}, above: ignoresAbove(dir)}
	for _, hidden := range hides {
		if name, ok := v.Rel(hidden); ok && hidden != "" {
			v.hides = append(v.hides, name)
		}
	}
	return v, nil
}

// Close closes the directory. Files that are open stay so.
func (v *View) Close() error { return v.root.Close() }

// Saved describes a view, for a program that goes on later.
type Saved struct {
	Path    string   `json:"path"`
	Program string   `json:"program,omitempty"`
	Dir     string   `json:"dir"`
	Named   []named  `json:"named,omitempty"`
	Only    bool     `json:"only,omitempty"`
	Hides   []string `json:"hides,omitempty"`
}

// Save returns the description of v.
func (v *View) Save() *Saved { return &Saved{v.path, v.Program, v.Dir, v.named, v.only, v.hides} }

// Open opens the directory again, with all that it has now.
func (s *Saved) Open() (*View, error) {
	v, err := Open(s.Path)
	if err == nil {
		v.Program, v.Dir, v.named, v.only, v.hides = s.Program, s.Dir, s.Named, s.Only, s.Hides
	}
	return v, err
}

// Path returns the directory's path on the host, without symbolic links.
func (v *View) Path() string { return v.path }

// Rel returns the name of a path of the host in the directory, and whether it is there.
func (v *View) Rel(host string) (string, bool) {
	if real, err := filepath.EvalSymlinks(host); err == nil {
		host = real
	}
	host, err := filepath.Abs(host)
	if err != nil {
		return "", false
	}
	name, err := filepath.Rel(v.path, host)
	if err != nil || !filepath.IsLocal(name) {
		return "", false
	}
	return filepath.ToSlash(name), true
}

// named is a name that a caller has included.
type named struct {
	Name  string `json:"name"`
	Rules bool   `json:"rules,omitempty"` // what is ignored below it is not shown
}

// Include has the view show a name, and below it everything but hidden files and caches.
func (v *View) Include(name string) { v.named = append(v.named, named{Name: name}) }

// Only has the view show only what is included, and what the rules leave of the directories
// dirs.
func (v *View) Only(dirs ...string) {
	v.only = true
	for _, dir := range dirs {
		v.named = append(v.named, named{dir, true})
	}
}

// Whole returns v, or a view that shows all that Only hides, for those who look for what is to
// be included. It is closed with v.
func (v *View) Whole() *View {
	if !v.only {
		return v
	}
	whole := &View{Program: v.Program, Dir: v.Dir, root: v.root, path: v.path, hides: v.hides, above: v.above, ignores: map[string][]pattern{}}
	for _, n := range v.named {
		if !n.Rules {
			whole.Include(n.Name)
		}
	}
	return whole
}

// Isolated reports whether Only was called.
func (v *View) Isolated() bool { return v.only }

// Shows reports whether the view has the name, if it is there.
func (v *View) Shows(name string, isDir bool) bool { return v.why(name, isDir) == "" }

// why returns the reason why a name is not shown, "" if it is.
func (v *View) why(name string, isDir bool) string {
	if name == "." {
		return ""
	}
	if slices.ContainsFunc(v.hides, func(h string) bool { return isBelow(name, h) }) {
		return "is of coderunner's own"
	}
	from, beyond, included := 0, false, false
	for _, n := range v.named {
		switch {
		case isBelow(n.Name, name):
			return ""
		case n.Name == ".":
			included = true
		case isBelow(name, n.Name) && len(n.Name) >= from:
			from, beyond, included = len(n.Name)+1, !n.Rules, true
		}
	}
	if v.only && !included {
		return "is not among the files that it was given"
	}
	for at := from; at < len(name); at++ {
		end := len(name)
		if i := strings.IndexByte(name[at:], '/'); i >= 0 {
			end = at + i
		}
		if why := v.whyElement(name[:end], name[at:end], isDir || end < len(name), beyond); why != "" {
			return why
		}
		at = end
	}
	return ""
}

// whyElement is why for the last element of a name. beyond: the caller has named what it is
// below.
func (v *View) whyElement(name, base string, isDir, beyond bool) string {
	switch {
	case base[0] == '.':
		return "is hidden"
	case isDir && v.isCache(name, base):
		return "is a cache"
	case !beyond && v.ignored(name, isDir):
		return "is ignored by version control"
	}
	return ""
}

// showsEntry is Shows for an entry of a directory that is shown.
func (v *View) showsEntry(name, base string, isDir bool) bool {
	if len(v.named) == 0 && len(v.hides) == 0 && !v.only {
		return v.whyElement(name, base, isDir, false) == ""
	}
	return v.Shows(name, isDir)
}

// isBelow reports whether a name is dir or below it.
func isBelow(name, dir string) bool {
	return name == dir || len(name) > len(dir) && name[len(dir)] == '/' && name[:len(dir)] == dir
}

// isCache reports whether a directory is what tools install or cache.
func (v *View) isCache(name, base string) bool {
	switch base {
	case "node_modules", "__pycache__", "bower_components", "__pypackages__":
		return true
	case "venv", "env", "virtualenv":
		_, err := v.root.Lstat(filepath.FromSlash(path.Join(name, "pyvenv.cfg")))
		return err == nil
	}
	return false
}

// link returns the target of a symbolic link as the view shows it: relative, and to a name
// that is shown.
func (v *View) link(name string) (string, error) {
	target, err := v.root.Readlink(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	if filepath.IsAbs(target) {
		if target, err = filepath.Rel(filepath.Join(v.path, filepath.FromSlash(path.Dir(name))), target); err != nil {
			return "", err
		}
	}
	target = filepath.ToSlash(target)
	to := path.Join(path.Dir(name), target)
	if !fs.ValidPath(to) {
		return "", fs.ErrNotExist
	}
	info, err := v.root.Stat(filepath.FromSlash(to)) // fails if it leads out of the directory
	if err != nil || !v.Shows(to, info.IsDir()) {
		return "", fs.ErrNotExist
	}
	return target, nil
}

// Free returns a name that the directory does not have, by putting underscores before one.
func (v *View) Free(name string) string {
	for {
		if _, err := v.root.Lstat(filepath.FromSlash(name)); err != nil {
			return name
		}
		name = path.Join(path.Dir(name), "_"+path.Base(name))
	}
}

// Lstat implements [fs.ReadLinkFS].
func (v *View) Lstat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrInvalid}
	}
	info, err := v.root.Lstat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return nil, err
	case !v.Shows(name, info.IsDir()):
	case info.Mode().IsRegular() || info.IsDir():
		return info, nil
	case info.Mode().Type() == fs.ModeSymlink:
		if _, err := v.link(name); err == nil {
			return info, nil
		}
	}
	return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
}

// ReadLink implements [fs.ReadLinkFS].
func (v *View) ReadLink(name string) (string, error) {
	if _, err := v.Lstat(name); err != nil {
		return "", err
	}
	return v.link(name)
}

// Open implements [fs.FS] for directories and regular files. It follows no link in the last
// element of the name.
func (v *View) Open(name string) (fs.File, error) {
	info, err := v.Lstat(name)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
	}
	if err != nil {
		return nil, err
	}
	f, err := v.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && now.Mode().Type() != info.Mode().Type() {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} // it was replaced
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{f, now}, nil
}

// ReadFile returns the first limit bytes of a regular file. It follows links.
func (v *View) ReadFile(name string, limit int64) ([]byte, error) {
	for range 10 {
		target, err := v.ReadLink(name)
		if err != nil {
			break // it is none
		}
		name = path.Join(path.Dir(name), target)
	}
	f, err := v.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// file is an open file that must not change.
type file struct {
	*os.File
	was fs.FileInfo
}

// ReadAt implements [io.ReaderAt]. The error is ESTALE if the file has changed since it was
// opened.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	now, statErr := f.File.Stat()
	if statErr != nil || now.Size() != f.was.Size() || !now.ModTime().Equal(f.was.ModTime()) {
		return 0, fmt.Errorf("%s has changed: %w", f.Name(), abi.ESTALE)
	}
	return n, err
}
