package memfs

import (
	"context"
	"io/fs"
	"slices"

	"coderunner/internal/machine/abi"
)

// Node is an inode: a directory, regular file, symlink, FIFO or device. Nodes
// stay valid as long as they are referenced, also after their last name is
// removed. A *Node is opaque; everything is asked of its FS.
type Node struct {
	kind kind // never changes; what it points to is guarded by FS.mu

	// The rest is guarded by FS.mu.
	readonly bool // belongs to a mount
	mounted  bool // its name is charged to the mounts'
	native   bool // of a MountCopy: it has its name and place there
	unlisted bool // see FS.Unlist
	perm     uint32
	nlink    uint32 // 0: no name is left
	opens    uint32 // open Files, which keep a nameless node's contents
	uid, gid uint32
	ino      uint64
	atime    abi.Timespec
	mtime    abi.Timespec
	ctime    abi.Timespec
	entry    fs.DirEntry // of a mount, nil once learn has asked it

	// Of a host directory's entry.
	host *hostPath // nil: the node is in memory or of a mount
	seen abi.Stat  // as it was looked up
}

// kind is what a node is, and what it holds: *directory, *contents (a regular
// file in memory), *source (a regular file of a mount), *symlink, *pipe (a
// FIFO), *device or otherFile.
type kind interface {
	format() uint32 // S_IFMT bits
}

// symlink is a symbolic link.
type symlink struct {
	target string // "" once the link is gone
}

// otherFile is a file of a host directory that is neither a directory nor a
// symbolic link: its S_IFMT bits. What it holds stays on the host. Without a host
// it is the name of a socket.
type otherFile uint32

func (*directory) format() uint32    { return abi.S_IFDIR }
func (*contents) format() uint32     { return abi.S_IFREG }
func (*source) format() uint32       { return abi.S_IFREG }
func (*symlink) format() uint32      { return abi.S_IFLNK }
func (*pipe) format() uint32         { return abi.S_IFIFO }
func (*device) format() uint32       { return abi.S_IFCHR }
func (typ otherFile) format() uint32 { return uint32(typ) }

// dir, data, src and link return what a node of that kind holds, nil for the
// others.
func (n *Node) dir() *directory { d, _ := n.kind.(*directory); return d }
func (n *Node) data() *contents { c, _ := n.kind.(*contents); return c }
func (n *Node) src() *source    { s, _ := n.kind.(*source); return s }
func (n *Node) link() *symlink  { l, _ := n.kind.(*symlink); return l }

// IsDir reports whether n is a directory. A node's type never changes.
func (n *Node) IsDir() bool { return n.dir() != nil }

// inode returns n's number in listings.
func (n *Node) inode() uint64 {
	if n.host != nil {
		return n.seen.Ino
	}
	return n.ino
}

// Type returns n's S_IFMT bits.
func (n *Node) Type() uint32 { return n.kind.format() }

// directory is the part of a Node that holds names.
//
// Entries are found by name in a map and listed in the order of their cookies,
// which only grow: a listing goes on behind the last cookie it has seen, however
// the directory has changed meanwhile.
type directory struct {
	parent  *Node // the root's is itself; kept when the directory is removed
	name    string
	origin  *directory        // of another FS, whose entries are not copied yet; see FS.Clone
	entries map[string]*entry // nil while empty
	order   []*entry          // by cookie; removed ones have no node
	removed int               // entries of order without a node
	cookie  int64             // of the newest entry
	pending []layer           // mounts not listed yet, oldest first
	mount   bool              // a mount point: not to be removed or moved
	copies  bool              // see FS.MountCopy

	lower   *hostPath // of a HostDir, merged below the entries; may be nil
	opaque  bool      // has no lower directory, as looked up once
	private bool      // see FS.Private

	// Of a directory that was removed: how many of those removed from it are
	// still charged, and whether it is.
	pins    int
	charged bool
	scratch bool // see FS.Scratch
	shares  bool // see FS.ShareFiles
}

type entry struct {
	name   string
	node   *Node // nil: removed
	cookie int64
}

// insert adds a name, which is new and charged.
func (d *directory) insert(name string, n *Node) {
	if d.entries == nil {
		d.entries = make(map[string]*entry)
	}
	d.cookie++
	e := &entry{name: name, node: n, cookie: d.cookie}
	d.entries[name] = e
	d.order = append(d.order, e)
}

// remove removes an existing name.
func (d *directory) remove(name string) {
	e := d.entries[name]
	delete(d.entries, name)
	e.node = nil
	d.removed++
	if d.removed > 32 && d.removed > len(d.order)/2 {
		d.order = slices.DeleteFunc(d.order, func(e *entry) bool { return e.node == nil })
		d.removed = 0
	}
}

// after returns the index in order of the first entry behind cookie.
func (d *directory) after(cookie int64) int {
	i, found := slices.BinarySearchFunc(d.order, cookie, func(e *entry, c int64) int {
		return int(min(1, max(-1, e.cookie-c)))
	})
	if found {
		i++
	}
	return i
}

// source is where a mounted regular file comes from.
type source struct {
	fsys fs.FS // nil: it is data
	path string
	data []byte

	size int64 // guarded by FS.mu
}

// device is what a character device's node holds.
type device struct {
	rdev uint32
	open func(ctx context.Context, flags uint32) (Stream, abi.Errno)
}

// layer is a directory of a mounted file system that is not listed yet.
//
// A mount adds a layer to a directory's pending ones. Loading the directory merges
// the layers' entries into it, and passes their subdirectories on as layers:
//
//	site-packages        pending: wheel a, wheel b
//	        │ load
//	site-packages ── google        pending: a/google, b/google
//	              ├─ a.py          from a
//	              └─ b.dist-info   pending: b/b.dist-info
type layer struct {
	fsys fs.FS
	dir  string // in fsys, as io/fs has it
	copy bool   // of MountCopy
}

// Cookies of the entries that every directory has.
const (
	cookieDot    = 1
	cookieDotDot = 2
)
