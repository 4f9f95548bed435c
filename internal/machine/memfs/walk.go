package memfs

import (
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
)

// maxLinks is how many symlinks one lookup follows, as on Linux.
const maxLinks = 40

// follow is what walk does with a symlink as the last component.
type follow int

const (
	followNever follow = iota // the operation is on the name itself
	followSlash               // followed only when a slash comes after it
	followPlain               // followed only when no slash comes after it (O_CREAT)
	followLast                // followed
)

func (f follow) follows(slash bool) bool {
	return f == followLast || f == followSlash && slash || f == followPlain && !slash
}

// lastKind is what the last component of a path is.
type lastKind int

const (
	lastName lastKind = iota
	lastRoot          // the path is "/"
	lastDot
	lastDotDot
)

// location is what a path resolves to.
type location struct {
	kind   lastKind
	parent *Node  // the directory that holds name; nil unless kind is lastName
	name   string // the last component
	node   *Node  // nil: there is no such name
	slash  bool   // a slash followed the last component
}

// walkLocked resolves path from dir as Linux's link_path_walk does. A missing
// last component is not an error.
func (fsys *FS) walkLocked(dir *Node, path string, f follow, who actor) (location, abi.Errno) {
	if e := checkPath(path); e != abi.OK {
		return location{}, e
	}
	cur, links := dir, 0
	if path[0] == '/' {
		cur = fsys.root
	}
	if cur == nil || !cur.fresh() {
		return location{}, abi.ENOENT
	}
	for rest := path; ; {
		if !cur.IsDir() {
			return location{}, abi.ENOTDIR
		}
		comp, after := split(rest)
		if comp == "" {
			return location{kind: lastRoot, node: cur}, abi.OK
		}
		p, e := fsys.stepLocked(cur, comp, who)
		if e != abi.OK {
			return location{}, e
		}
		p.slash = after != ""
		last := strings.Trim(after, "/") == ""
		if p.node == nil {
			if last {
				return p, abi.OK
			}
			return location{}, abi.ENOENT
		}
		if link := p.node.link(); link != nil && (!last || f.follows(p.slash)) {
			if links++; links > maxLinks {
				return location{}, abi.ELOOP
			}
			p.node.accessed()
			rest = link.target + after
			if rest[0] == '/' {
				cur = fsys.root
			}
			continue
		}
		if last {
			return p, abi.OK
		}
		cur, rest = p.node, after
	}
}

func checkPath(path string) abi.Errno {
	switch {
	case path == "":
		return abi.ENOENT
	case len(path) >= abi.PATH_MAX:
		return abi.ENAMETOOLONG
	case strings.IndexByte(path, 0) >= 0:
		return abi.EINVAL
	}
	return abi.OK
}

// split cuts the first component off; after begins with a slash or is empty.
func split(path string) (comp, after string) {
	path = strings.TrimLeft(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// stepLocked looks one component up in the directory cur.
func (fsys *FS) stepLocked(cur *Node, comp string, who actor) (location, abi.Errno) {
	if !cur.may(who, abi.X_OK) {
		return location{}, abi.EACCES
	}
	switch {
	case comp == ".":
		return location{kind: lastDot, node: cur}, abi.OK
	case comp == "..":
		return location{kind: lastDotDot, node: cur.dir().parent}, abi.OK
	case len(comp) > abi.NAME_MAX:
		return location{}, abi.ENAMETOOLONG
	}
	n, e := fsys.childLocked(cur, comp)
	return location{kind: lastName, parent: cur, name: comp, node: n}, e
}

// findLocked is walkLocked for a node that must exist.
func (fsys *FS) findLocked(dir *Node, path string, f follow, who actor) (*Node, abi.Errno) {
	p, e := fsys.walkLocked(dir, path, f, who)
	switch {
	case e != abi.OK:
		return nil, e
	case p.node == nil:
		return nil, abi.ENOENT
	case p.slash && !p.node.IsDir():
		return nil, abi.ENOTDIR
	}
	return p.node, abi.OK
}

// Lookup finds the node at path, relative to dir unless path is absolute (dir
// may then be nil). follow reports whether a symlink as the last component is
// followed. An empty path is ENOENT.
func (fsys *FS) Lookup(dir *Node, path string, follow bool) (*Node, abi.Errno) {
	f := followSlash
	if follow {
		f = followLast
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.findLocked(dir, path, f, guest)
	if e == abi.ENOENT {
		fsys.missLocked(dir, path, false)
	}
	return n, e
}

// PathOf is the absolute path of the directory n, for getcwd: ENOENT when it
// was removed, ENOTDIR for other files, ENAMETOOLONG past abi.PATH_MAX.
func (fsys *FS) PathOf(n *Node) (string, abi.Errno) {
	if !n.IsDir() {
		return "", abi.ENOTDIR
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	return fsys.pathLocked(n)
}

func (fsys *FS) pathLocked(n *Node) (string, abi.Errno) {
	if n == fsys.root {
		return "/", abi.OK
	}
	var names []string
	for size := 1; n != fsys.root; n = n.dir().parent {
		if n.nlink == 0 {
			return "", abi.ENOENT
		}
		if size += len(n.dir().name) + 1; size > abi.PATH_MAX {
			return "", abi.ENAMETOOLONG
		}
		names = append(names, n.dir().name)
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/"), abi.OK
}
