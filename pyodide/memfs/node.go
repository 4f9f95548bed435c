package memfs

import (
	"time"

	"coderunner/pyodide/abi"
)

// Node is an inode: a directory, regular file, symlink, FIFO or device. Nodes
// stay valid as long as they are referenced, also after their last name is
// removed. A *Node is opaque; everything is asked of its FS.
type Node struct {
	typ uint32 // S_IFMT bits, never changes

	// The rest is guarded by FS.mu.
	readonly bool // belongs to a mount
	perm     uint32
	nlink    uint32 // 0: no name is left
	opens    uint32 // open Files, which keep a nameless node's contents
	uid, gid uint32
	ino      uint64
	atime    abi.Timespec
	mtime    abi.Timespec
	ctime    abi.Timespec

	// By type, one of these.
	dir    *directory
	data   *contents // regular file in memory
	src    *source   // regular file of a mount
	target string    // symlink
	fifo   *pipe
	dev    *device

	// Of a Folder's.
	ext  *outside
	seen abi.Stat
}

// IsDir says whether n is a directory. A node's type never changes.
func (n *Node) IsDir() bool { return n.typ == abi.S_IFDIR }

// inode is the number that n is listed with.
func (n *Node) inode() uint64 {
	if n.ext != nil {
		return n.seen.Ino
	}
	return n.ino
}

// Type is n's S_IFMT bits.
func (n *Node) Type() uint32 { return n.typ }

func (fsys *FS) newNode(typ, perm uint32) *Node {
	t := fsys.time()
	return &Node{
		typ: typ, perm: perm & 0o7777, uid: fsys.uid, gid: fsys.gid,
		ino: fsys.lastIno.Add(1), atime: t, mtime: t, ctime: t,
	}
}

func (fsys *FS) time() abi.Timespec { return timestamp(fsys.now()) }

// timestamp is t as files have it: in whole microseconds. The guest's os.utime
// sets no finer times, and a copy must not look older than its original.
func timestamp(t time.Time) abi.Timespec { return abi.NewTimespec(t.Truncate(time.Microsecond)) }

// touch records that n's contents changed.
func (fsys *FS) touch(n *Node) {
	n.mtime = fsys.time()
	n.ctime = n.mtime
}

// accessed updates the access time when it would say something new: when it is
// not after the last change (relatime).
func (fsys *FS) accessed(n *Node) {
	if !n.readonly && (!n.mtime.Before(n.atime) || !n.ctime.Before(n.atime)) {
		n.atime = fsys.time()
	}
}

// unname drops one of n's names.
func (fsys *FS) unname(n *Node) {
	n.nlink--
	n.ctime = fsys.time()
	fsys.names.give(1)
	fsys.release(n)
}

// release gives back what n holds once it has neither names nor open files.
func (fsys *FS) release(n *Node) {
	if n.nlink > 0 || n.opens > 0 {
		return
	}
	switch {
	case n.data != nil:
		n.data.truncate(&fsys.bytes, 0)
	case n.typ == abi.S_IFLNK:
		fsys.bytes.give(int64(len(n.target)))
		n.target = ""
	}
}

// dead says whether nothing can reach n's contents any more.
func (n *Node) dead() bool { return n.nlink == 0 && n.opens == 0 }

// Stat is n's struct stat.
func (fsys *FS) Stat(n *Node) abi.Stat {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	return fsys.stat(n)
}

func (fsys *FS) stat(n *Node) abi.Stat {
	if n.ext != nil {
		return n.restat()
	}
	if n.src != nil {
		n.src.learn(n)
	}
	st := abi.Stat{
		Dev: 1, Ino: n.ino, Mode: n.typ | n.perm, Nlink: n.nlink, UID: n.uid, GID: n.gid,
		Blksize: 4096, Atime: n.atime, Mtime: n.mtime, Ctime: n.ctime,
	}
	switch {
	case n.dir != nil:
		st.Size = 4096
		if n.readonly {
			st.Nlink = 1 // "not counted": counting would need a listing
		}
	case n.data != nil:
		st.Size, st.Blocks = n.data.size, (n.data.held+511)/512
	case n.src != nil:
		st.Size, st.Blocks = n.src.size, (n.src.size+511)/512
	case n.dev != nil:
		st.Rdev = n.dev.rdev
	default:
		st.Size = int64(len(n.target))
	}
	return st
}

// actor is on whose behalf an operation runs.
type actor bool

const (
	guest actor = false
	host  actor = true // not bound by permission bits
)

// may says whether who has all the R_OK, W_OK, X_OK bits of mask on n.
func (n *Node) may(who actor, mask uint32) bool {
	return who == host || n.ext != nil || n.perm>>6&mask == mask
}

// Access checks the R_OK, W_OK and X_OK bits of mode against the owner's
// permission bits: EACCES, or EROFS for W_OK on a read-only mount.
func (fsys *FS) Access(n *Node, mode uint32) abi.Errno {
	if mode&^7 != 0 {
		return abi.EINVAL
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	if n.src != nil {
		n.src.learn(n)
	}
	switch {
	case mode&abi.W_OK != 0 && (n.readonly || n.IsDir() && n.dir.showsOnly()):
		return abi.EROFS
	case n.ext != nil && !n.mayOutside(mode), !n.may(guest, mode):
		return abi.EACCES
	}
	return abi.OK
}

// Readlink is what the symlink n holds; EINVAL for other nodes.
func (fsys *FS) Readlink(n *Node) (string, abi.Errno) {
	if n.typ != abi.S_IFLNK {
		return "", abi.EINVAL
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	if n.dead() {
		return "", abi.ENOENT
	}
	fsys.accessed(n)
	return n.target, abi.OK
}

// Chmod sets the permission bits (0o7777) of n. EOPNOTSUPP for symlinks.
func (fsys *FS) Chmod(n *Node, perm uint32) abi.Errno {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	switch {
	case n.readonly:
		return abi.EROFS
	case n.typ == abi.S_IFLNK:
		return abi.EOPNOTSUPP
	case n.ext != nil:
		return n.ext.folder.Chmod(n.ext.name, perm&0o777)
	}
	n.perm = perm & 0o7777
	n.ctime = fsys.time()
	return abi.OK
}

// Chown records the owner's ids; ^uint32(0) leaves one as it is. Of a Folder's
// files nothing is changed.
func (fsys *FS) Chown(n *Node, uid, gid uint32) abi.Errno {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	if n.readonly {
		return abi.EROFS
	}
	if n.ext != nil {
		return abi.OK
	}
	if uid != ^uint32(0) {
		n.uid = uid
	}
	if gid != ^uint32(0) {
		n.gid = gid
	}
	n.ctime = fsys.time()
	return abi.OK
}

// SetTimes sets the times of n. A Nsec of abi.UTIME_NOW or abi.UTIME_OMIT means
// what it means to utimensat(2); other values outside [0, 1e9) are EINVAL.
func (fsys *FS) SetTimes(n *Node, atime, mtime abi.Timespec) abi.Errno {
	if !settable(atime) || !settable(mtime) {
		return abi.EINVAL
	}
	if atime.Nsec == abi.UTIME_OMIT && mtime.Nsec == abi.UTIME_OMIT {
		return abi.OK
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	if n.readonly {
		return abi.EROFS
	}
	if n.ext != nil {
		return n.ext.folder.SetTimes(n.ext.name, atime, mtime)
	}
	now := fsys.time()
	set := func(to *abi.Timespec, t abi.Timespec) {
		switch t.Nsec {
		case abi.UTIME_OMIT:
		case abi.UTIME_NOW:
			*to = now
		default:
			*to = t
		}
	}
	set(&n.atime, atime)
	set(&n.mtime, mtime)
	n.ctime = now
	return abi.OK
}

func settable(t abi.Timespec) bool {
	return t.Nsec == abi.UTIME_NOW || t.Nsec == abi.UTIME_OMIT || t.Nsec >= 0 && t.Nsec < 1e9
}

// Truncate is truncate(2): it needs write permission on n. (File.Truncate is
// ftruncate(2).)
func (fsys *FS) Truncate(n *Node, size int64) abi.Errno {
	if size < 0 {
		return abi.EINVAL
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	switch {
	case n.IsDir():
		return abi.EISDIR
	case n.typ != abi.S_IFREG:
		return abi.EINVAL
	case n.readonly:
		return abi.EROFS
	case !n.may(guest, abi.W_OK):
		return abi.EACCES
	case n.ext != nil:
		f, e := n.ext.folder.Open(n.ext.name, abi.O_WRONLY, 0)
		if e != abi.OK {
			return e
		}
		defer f.Close()
		return f.Truncate(size)
	}
	return fsys.setSize(n, size)
}

// setSize cuts or extends the regular file n.
func (fsys *FS) setSize(n *Node, size int64) abi.Errno {
	switch {
	case size > maxFileSize:
		return abi.EFBIG
	case n.dead():
		return abi.ENOENT // nothing would ever give its chunks back
	}
	if size != n.data.size {
		n.data.truncate(&fsys.bytes, size)
	}
	fsys.touch(n)
	return abi.OK
}
