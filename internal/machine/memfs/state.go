package memfs

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"coderunner/internal/machine/abi"
)

// Saved is a directory, a regular file or a symbolic link, as State returns it.
type Saved struct {
	Path   string
	Mode   uint32 // S_IFMT and permission bits
	Mtime  abi.Timespec
	Data   []byte // of a file
	Target string // of a link
}

// State returns what is in memory, directories before their entries, without
// mounts, devices and what is in a [HostDir], and without what is in the directory
// except. Its error names what cannot be saved: FIFOs, sockets and files with
// several names.
func (fsys *FS) State(except string) (list []Saved, err error) {
	return fsys.state(except, false)
}

// StateOfClone is State without what is in directories of a [FS.Clone] into which nobody has
// looked: each clone begins with that.
func (fsys *FS) StateOfClone(except string) (list []Saved, err error) {
	return fsys.state(except, true)
}

func (fsys *FS) state(except string, seen bool) (list []Saved, err error) {
	if err := fsys.save(fsys.root, "/", except, seen, &list); err != nil {
		return nil, err
	}
	for i := range list {
		if s := &list[i]; s.Mode&abi.S_IFMT == abi.S_IFREG {
			if s.Data, err = fsys.ReadFile(s.Path); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// save lists the directory n, whose path is dir; if seen, unless nobody has looked into it.
func (fsys *FS) save(n *Node, dir, except string, seen bool, list *[]Saved) error {
	fsys.mu.Lock()
	if seen && n.dir().origin != nil {
		fsys.mu.Unlock()
		return nil
	}
	n.cloneEntries()
	children := map[string]*Node{}
	for name, e := range n.dir().entries {
		children[name] = e.node
	}
	fsys.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(children)) {
		c, at := children[name], path.Join(dir, name)
		if c.readonly {
			continue // also without a look at it, which may take long
		}
		st := fsys.Stat(c)
		if st.Mode&abi.S_IFMT == abi.S_IFCHR {
			continue
		}
		saved := Saved{Path: at, Mode: st.Mode, Mtime: st.Mtime}
		switch k := c.kind.(type) {
		case *pipe:
			return fmt.Errorf("%s is a FIFO", at)
		case otherFile:
			return fmt.Errorf("%s is a socket", at)
		case *symlink:
			saved.Target = k.target
		}
		if !c.IsDir() && st.Nlink > 1 {
			return fmt.Errorf("%s has %d names", at, st.Nlink)
		}
		*list = append(*list, saved)
		if c.IsDir() && at != except {
			if err := fsys.save(c, at, except, seen, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// isLink reports whether there is a symbolic link to target at path.
func (fsys *FS) isLink(path, target string) bool {
	n, e := fsys.Lookup(nil, path, false)
	if e != abi.OK {
		return false
	}
	have, e := fsys.Readlink(n)
	return e == abi.OK && have == target
}

// Restore recreates what State returned, over what is there.
func (fsys *FS) Restore(list []Saved) error {
	for _, s := range list {
		var err error
		switch s.Mode & abi.S_IFMT {
		case abi.S_IFDIR:
			err = fsys.MkdirAll(s.Path, s.Mode&0o7777)
		case abi.S_IFREG:
			err = fsys.WriteFile(s.Path, s.Data, s.Mode&0o7777)
		case abi.S_IFLNK:
			if !fsys.isLink(s.Path, s.Target) {
				err = pathError("symlink", s.Path, fsys.Symlink(s.Target, nil, s.Path))
			}
		default:
			err = errors.New("it is neither a directory nor a file nor a link")
		}
		if err != nil {
			return fmt.Errorf("restore %s: %w", s.Path, err)
		}
	}
	for _, s := range slices.Backward(list) { // a directory's time after its entries
		if n, e := fsys.Lookup(nil, s.Path, false); e == abi.OK {
			if s.Mode&abi.S_IFMT != abi.S_IFLNK {
				fsys.Chmod(n, s.Mode&0o7777)
			}
			fsys.SetTimes(n, s.Mtime, s.Mtime)
		}
	}
	return nil
}

// NameOf returns an absolute path of n, "" if it has none any more. It searches the
// whole file system.
func (fsys *FS) NameOf(n *Node) string {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	return fsys.nameOfLocked(n, fsys.root, "/")
}

func (fsys *FS) nameOfLocked(n, dir *Node, at string) string {
	if n == dir {
		return at
	}
	if dir.dir() == nil {
		return ""
	}
	dir.cloneEntries()
	for name, e := range dir.dir().entries {
		if found := fsys.nameOfLocked(n, e.node, path.Join(at, name)); found != "" {
			return found
		}
	}
	return ""
}
