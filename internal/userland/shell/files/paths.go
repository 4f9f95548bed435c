package files

import (
	"cmp"
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/order"
	"context"
	"io/fs"
	"path"
	"strings"
)

// List returns the entries of a directory, in the order of their names.
func (fl *Files) List(ctx context.Context, dir string) []abi.Dirent {
	dir = cmp.Or(dir, ".")
	f, e := fl.Open(ctx, dir, abi.O_RDONLY|abi.O_DIRECTORY, 0)
	if e != abi.OK {
		return nil
	}
	defer f.Close()
	var list []abi.Dirent
	f.ReadDir(func(d abi.Dirent) bool {
		list = append(list, d)
		return true
	})
	order.By(list, func(a, b abi.Dirent) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Lookup looks up a path, relative to the working directory.
func (fl *Files) Lookup(name string, follow bool) (*memfs.Node, abi.Errno) {
	if name == "" {
		return nil, abi.ENOENT
	}
	return fl.FS.Lookup(nil, fl.Absolute(name), follow)
}

// Absolute returns a path from the root. A slash at its end stays.
func (fl *Files) Absolute(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(fl.Dir, "/") + "/" + name
}

// IsDir reports whether a path leads to a directory.
func (fl *Files) IsDir(name string) bool {
	n, e := fl.Lookup(name, true)
	return e == abi.OK && n.IsDir()
}

// Open opens a path. /dev/fd and /dev/stdin are the shell's own descriptors.
func (fl *Files) Open(ctx context.Context, name string, flags, perm uint32) (*memfs.File, abi.Errno) {
	if name == "" {
		return nil, abi.ENOENT
	}
	ctx = memfs.WithFiles(ctx, func(n int) *memfs.File { return fl.FDs[n] })
	return fl.FS.Open(ctx, nil, fl.Absolute(name), flags|abi.O_CLOEXEC, perm&^fl.Umask)
}

// Clean returns the absolute path of a directory to change to.
func (fl *Files) Clean(name string) string { return path.Clean(fl.Absolute(name)) }

// maxSearched bounds the entries among which a descriptor's file is searched.
const maxSearched = 20_000

// Below returns the files below a directory.
func (fl *Files) Below(dir string) map[*memfs.Node]string {
	found := map[*memfs.Node]string{}
	walked := 0
	_ = fs.WalkDir(fl.FS.FS(), strings.TrimPrefix(dir, "/"), func(name string, d fs.DirEntry, err error) error {
		if walked++; err != nil || walked > maxSearched {
			return fs.SkipAll
		}
		if d.Type().IsRegular() {
			if n, e := fl.Lookup("/"+name, false); e == abi.OK {
				found[n] = "/" + name
			}
		}
		return nil
	})
	return found
}

// Message returns an errno's text, as strerror does.
func Message(e abi.Errno) string { return cmp.Or(e.Text(), e.Name()) }
