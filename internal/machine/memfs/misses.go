package memfs

import (
	"maps"
	"path"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
)

// maxMisses bounds the paths that are noted.
const maxMisses = 1000

// misses are the paths below a directory that the guest looked for in vain, relative to
// it. What it makes of them later counts no more, unless it is noted as true.
type misses struct {
	dir   *Node
	names map[string]bool
}

// WatchMisses notes from now on what the guest looks for below the directory at dir
// that is not there: files and directories that it opens or asks for, and directories
// that it makes something in.
func (fsys *FS) WatchMisses(dir string) error {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	n, e := fsys.findLocked(nil, dir, followLast, host)
	if e != abi.OK {
		return pathError("watch", dir, e)
	}
	fsys.misses = &misses{n, map[string]bool{}}
	return nil
}

// Misses returns what WatchMisses has noted and is still not there, and the files that
// were made to be read, sorted.
func (fsys *FS) Misses() (names []string) {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	if fsys.misses == nil {
		return nil
	}
	m := fsys.misses
	fsys.misses = nil // these are our own
	for _, name := range slices.Sorted(maps.Keys(m.names)) {
		if n, _ := fsys.findLocked(m.dir, name, followLast, host); n == nil || m.names[name] {
			names = append(names, name)
		}
	}
	return names
}

// missLocked notes that the guest found no name in parent, with rest of a path after
// it. made: it is made now.
func (fsys *FS) missLocked(parent *Node, name, rest string, who actor, made bool) {
	m := fsys.misses
	if m == nil || who != guest || len(m.names) >= maxMisses {
		return
	}
	name = path.Join(name, rest)
	for n := parent; n != m.dir; n = n.dir().parent {
		if n == fsys.root || n.nlink == 0 {
			return
		}
		name = path.Join(n.dir().name, name)
	}
	if name != ".." && !strings.HasPrefix(name, "../") {
		m.names[name] = m.names[name] || made
	}
}
