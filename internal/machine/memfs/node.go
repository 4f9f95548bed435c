package memfs

import (
	"sync"
	"sync/atomic"
	"time"

	"coderunner/internal/machine/abi"
)

// inodes are the nodes of an FS: it makes them, charges and refunds them, and does
// what POSIX does to one whose path is found. It knows no paths.
type inodes struct {
	mu      sync.Mutex // guards the nodes, see the package comment
	lastIno atomic.Uint64
	budgets
}

func (in *inodes) newNode(k kind, perm uint32) *Node {
	t := now()
	return &Node{
		kind: k, perm: perm & 0o7777,
		ino: in.lastIno.Add(1), atime: t, mtime: t, ctime: t,
	}
}

func now() abi.Timespec { return timestamp(time.Now()) }

// timestamp truncates t to whole microseconds: the guest's os.utime sets no finer
// times, and a copy must not look older than its original.
func timestamp(t time.Time) abi.Timespec { return abi.NewTimespec(t.Truncate(time.Microsecond)) }

// touch records that n's contents changed.
func (n *Node) touch() {
	n.learn()
	n.mtime = now()
	n.ctime = n.mtime
	n.unlisted = false
}

// accessed updates an access time that is not after the last change
// (relatime).
func (n *Node) accessed() {
	if !n.readonly && (!n.mtime.Before(n.atime) || !n.ctime.Before(n.atime)) {
		n.atime = now()
	}
}

// unnameLocked accounts for the removal of one of n's names.
func (in *inodes) unnameLocked(n *Node) {
	n.nlink--
	n.ctime = now()
	in.refundName(n)
	in.releaseLocked(n)
}

// refundName refunds one of n's names.
func (in *inodes) refundName(n *Node) {
	if n.mounted {
		n.mounted = false
		in.mounted.give(1)
	} else {
		in.names.give(1)
	}
}

// releaseLocked refunds what n holds once it has neither names nor open files.
func (in *inodes) releaseLocked(n *Node) {
	if n.nlink > 0 || n.opens > 0 {
		return
	}
	switch k := n.kind.(type) {
	case *contents:
		k.truncate(&in.bytes, 0)
		k.unshare(&in.budgets)
	case *symlink:
		in.bytes.give(int64(len(k.target)))
		k.target = ""
	}
}

// dead reports whether n has neither names nor open files.
func (n *Node) dead() bool { return n.nlink == 0 && n.opens == 0 }

// Stat returns n's struct stat.
func (in *inodes) Stat(n *Node) abi.Stat {
	in.mu.Lock()
	defer in.mu.Unlock()
	if n.host != nil {
		return n.restat()
	}
	n.learn()
	st := abi.Stat{
		Dev: 1, Ino: n.ino, Mode: n.Type() | n.perm, Nlink: n.nlink, UID: n.uid, GID: n.gid,
		Blksize: 4096, Atime: n.atime, Mtime: n.mtime, Ctime: n.ctime,
	}
	switch k := n.kind.(type) {
	case *directory:
		st.Size = 4096
		if n.readonly || len(n.dir().pending) > 0 {
			st.Nlink = 1 // "not counted": counting would need a listing
		}
	case *contents:
		st.Size, st.Blocks = k.size, (k.held+511)/512
		if k.from != nil {
			st.Blocks = (k.size + 511) / 512
		}
	case *source:
		st.Size, st.Blocks = k.size, (k.size+511)/512
	case *device:
		st.Rdev = k.rdev
	case *symlink:
		st.Size = int64(len(k.target))
	}
	return st
}

// actor is whom an operation runs for.
type actor bool

const (
	guest actor = false
	host  actor = true // not bound by permission bits
)

// may reports whether who has all the R_OK, W_OK, X_OK bits of mask on n.
func (n *Node) may(who actor, mask uint32) bool {
	return who == host || n.host != nil || n.perm>>6&mask == mask
}

// Access checks the R_OK, W_OK and X_OK bits of mode against the owner's
// permission bits: EACCES, or EROFS for W_OK on a read-only mount.
func (in *inodes) Access(n *Node, mode uint32) abi.Errno {
	if mode&^7 != 0 {
		return abi.EINVAL
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	n.learn()
	switch {
	case mode&abi.W_OK != 0 && (n.readonly || n.IsDir() && n.dir().readOnly()):
		return abi.EROFS
	case n.host != nil && !n.mayHost(mode), !n.may(guest, mode):
		return abi.EACCES
	}
	return abi.OK
}

// Readlink returns the target of the symlink n; EINVAL for other nodes.
func (in *inodes) Readlink(n *Node) (string, abi.Errno) {
	link := n.link()
	if link == nil {
		return "", abi.EINVAL
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if n.dead() {
		return "", abi.ENOENT
	}
	n.accessed()
	return link.target, abi.OK
}

// Chmod sets the permission bits (0o7777) of n. EOPNOTSUPP for symlinks.
func (in *inodes) Chmod(n *Node, perm uint32) abi.Errno {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case n.readonly:
		return abi.EROFS
	case n.link() != nil:
		return abi.EOPNOTSUPP
	case n.host != nil:
		return n.host.dir.Chmod(n.host.name, perm&0o777)
	}
	n.learn()
	n.perm = perm & 0o7777
	n.ctime = now()
	return abi.OK
}

// Chown records the owner's ids; ^uint32(0) leaves one as it is. On entries of a
// HostDir it does nothing.
func (in *inodes) Chown(n *Node, uid, gid uint32) abi.Errno {
	in.mu.Lock()
	defer in.mu.Unlock()
	if n.readonly {
		return abi.EROFS
	}
	if n.host != nil {
		return abi.OK
	}
	if uid != ^uint32(0) {
		n.uid = uid
	}
	if gid != ^uint32(0) {
		n.gid = gid
	}
	n.ctime = now()
	return abi.OK
}

// SetTimes sets the times of n. A Nsec of abi.UTIME_NOW or abi.UTIME_OMIT means
// what it means to utimensat(2); other values outside [0, 1e9) are EINVAL.
func (in *inodes) SetTimes(n *Node, atime, mtime abi.Timespec) abi.Errno {
	if !settable(atime) || !settable(mtime) {
		return abi.EINVAL
	}
	if atime.Nsec == abi.UTIME_OMIT && mtime.Nsec == abi.UTIME_OMIT {
		return abi.OK
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if n.readonly {
		return abi.EROFS
	}
	if n.host != nil {
		return n.host.dir.SetTimes(n.host.name, atime, mtime)
	}
	n.learn()
	now := now()
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
func (in *inodes) Truncate(n *Node, size int64) abi.Errno {
	if size < 0 {
		return abi.EINVAL
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case n.IsDir():
		return abi.EISDIR
	case n.Type() != abi.S_IFREG:
		return abi.EINVAL
	case n.readonly:
		return abi.EROFS
	case !n.may(guest, abi.W_OK):
		return abi.EACCES
	case n.host != nil:
		f, e := n.host.dir.Open(n.host.name, abi.O_WRONLY, 0)
		if e != abi.OK {
			return e
		}
		defer f.Close()
		return f.Truncate(size)
	}
	return in.setSizeLocked(n, size)
}

// setSizeLocked cuts or extends the regular file n.
func (in *inodes) setSizeLocked(n *Node, size int64) abi.Errno {
	switch {
	case size > maxFileSize:
		return abi.EFBIG
	case n.dead():
		return abi.ENOENT // nothing would ever give its chunks back
	}
	if e := in.copyUpLocked(n, size, nil); e != abi.OK {
		return e
	}
	if size != n.data().size {
		n.data().truncate(&in.bytes, size)
	}
	n.touch()
	return abi.OK
}

// newDir returns a directory that has no entry in parent yet; a nil parent makes
// it a root.
func (in *inodes) newDir(parent *Node, name string, perm uint32) *Node {
	d := &directory{parent: parent, name: name, cookie: cookieDotDot}
	n := in.newNode(d, perm)
	if parent == nil {
		d.parent = n
	}
	return n
}

// readOnly reports whether new names are refused here: the lower directory
// cannot be written.
func (d *directory) readOnly() bool {
	return d.lower != nil && !d.private && !d.scratch && !d.lower.writable()
}

// fresh reports whether the directory that a program holds is still what its
// name in the HostDir stands for.
func (n *Node) fresh() bool {
	if n == nil || n.host == nil || !n.IsDir() {
		return true
	}
	st, e := n.host.dir.Lstat(n.host.name)
	return e == abi.OK && st.IsDir() && st.Ino == n.seen.Ino && st.Dev == n.seen.Dev
}

// restat returns the current state of a host directory, and for other nodes the
// state at their lookup.
func (n *Node) restat() abi.Stat {
	if n.IsDir() {
		if st, e := n.host.dir.Lstat(n.host.name); e == abi.OK && st.IsDir() {
			return hostStat(st)
		}
	}
	return hostStat(n.seen)
}

// mayHost is Access for an entry of a HostDir, which decides itself when the
// entry is used.
func (n *Node) mayHost(mask uint32) bool {
	if n.seen.UID == 0 {
		return n.perm>>6&mask == mask
	}
	return (n.perm>>3|n.perm)&mask == mask
}

// closeNode undoes openNode's count.
func (in *inodes) closeNode(n *Node) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n.opens--
	in.releaseLocked(n)
	in.refundRemovedLocked(n)
}
