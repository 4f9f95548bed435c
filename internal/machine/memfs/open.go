package memfs

import (
	"context"

	"coderunner/internal/machine/abi"
)

// Open opens or creates the file at path, with the abi.O_* flags. perm is used
// for a created file; the caller has applied a umask, if any. A returned File
// has one reference. Opening a FIFO blocks as POSIX says unless O_NONBLOCK is
// set; EINTR when ctx ends first.
//
// Understood flags: access mode, O_CREAT, O_EXCL, O_TRUNC, O_APPEND,
// O_NONBLOCK, O_DIRECTORY, O_NOFOLLOW, O_PATH, O_TMPFILE; others are ignored.
func (fsys *FS) Open(ctx context.Context, dir *Node, path string, flags, perm uint32) (*File, abi.Errno) {
	return fsys.open(ctx, dir, path, flags, perm, guest)
}

func (fsys *FS) open(ctx context.Context, dir *Node, path string, flags, perm uint32, who actor) (*File, abi.Errno) {
	flags, e := cleanFlags(flags)
	if e != abi.OK {
		return nil, e
	}
	n, out, e := fsys.openNode(dir, path, flags, perm, who)
	if e != abi.OK {
		return nil, e
	}
	f := fsys.newOpen(flags)
	f.node, f.out = n, out
	if e := f.attach(ctx, flags); e != abi.OK {
		fsys.closeNode(n)
		return nil, e
	}
	return f, abi.OK
}

// cleanFlags refuses senseless flags and drops those without effect.
func cleanFlags(flags uint32) (uint32, abi.Errno) {
	if flags&abi.O_PATH != 0 {
		return flags & (abi.O_PATH | abi.O_DIRECTORY | abi.O_NOFOLLOW), abi.OK
	}
	switch {
	case flags&3 == 3:
		return 0, abi.EINVAL
	case isTmpfile(flags) && flags&3 == abi.O_RDONLY:
		return 0, abi.EINVAL
	case flags&abi.O_TMPFILE&^abi.O_DIRECTORY != 0 && flags&abi.O_DIRECTORY == 0:
		return 0, abi.EINVAL
	case flags&abi.O_CREAT != 0 && flags&abi.O_DIRECTORY != 0:
		return 0, abi.EINVAL
	}
	return flags, abi.OK
}

func isTmpfile(flags uint32) bool { return flags&abi.O_TMPFILE == abi.O_TMPFILE }

// openNode finds or creates the node to open and counts it as open. A file of a
// HostDir is opened on the host, too.
func (fsys *FS) openNode(dir *Node, path string, flags, perm uint32, who actor) (*Node, HostFile, abi.Errno) {
	f := followLast
	switch create := flags&abi.O_CREAT != 0; {
	case create && flags&(abi.O_EXCL|abi.O_NOFOLLOW) != 0:
		f = followNever
	case create:
		f = followPlain
	case flags&abi.O_NOFOLLOW != 0:
		f = followSlash
	}
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	p, e := fsys.walkLocked(dir, path, f, who)
	n := p.node
	if who == guest && (e == abi.ENOENT || e == abi.OK && n == nil && flags&abi.O_CREAT == 0) {
		fsys.missLocked(dir, path, true)
	}
	if e != abi.OK {
		return nil, nil, e
	}
	var out HostFile
	switch {
	case isTmpfile(flags):
		n, e = fsys.openTmpfileLocked(p, perm, who)
	case flags&abi.O_CREAT == 0 || n != nil && flags&abi.O_EXCL == 0 && !p.slash && p.kind == lastName:
		if e = fsys.openOldLocked(p, flags, who); e == abi.OK && n.host != nil && !n.IsDir() && flags&abi.O_PATH == 0 {
			out, e = fsys.openHostLocked(n.host, flags&^(abi.O_CREAT|abi.O_EXCL), 0)
		}
	default:
		n, out, e = fsys.openNewLocked(p, flags, perm, who)
	}
	if e != abi.OK {
		return nil, nil, e
	}
	n.opens++
	return n, out, abi.OK
}

// openHostLocked opens a file of a HostDir, within the budget of open host files.
func (fsys *FS) openHostLocked(o *hostPath, flags, perm uint32) (HostFile, abi.Errno) {
	if !fsys.handles.take(1) {
		return nil, abi.EMFILE
	}
	out, e := o.dir.Open(o.name, flags&(3|abi.O_CREAT|abi.O_EXCL|abi.O_TRUNC|abi.O_APPEND), perm&0o777)
	if e != abi.OK {
		fsys.handles.give(1)
		return nil, e
	}
	return out, abi.OK
}

// openNewLocked creates the file for O_CREAT.
func (fsys *FS) openNewLocked(p location, flags, perm uint32, who actor) (*Node, HostFile, abi.Errno) {
	switch {
	case p.kind == lastName && p.slash:
		return nil, nil, abi.EISDIR
	case p.node != nil && flags&abi.O_EXCL != 0:
		return nil, nil, abi.EEXIST
	case p.node != nil:
		return nil, nil, abi.EISDIR
	}
	if e := p.parent.writable(who); e != abi.OK {
		return nil, nil, e
	}
	if o := p.hostPath(who); o != nil {
		out, e := fsys.openHostLocked(o, flags|abi.O_CREAT|abi.O_EXCL, perm)
		if e != abi.OK {
			return nil, nil, e
		}
		st, e := out.Stat()
		if e != abi.OK {
			out.Close()
			fsys.handles.give(1)
			return nil, nil, e
		}
		return &Node{kind: otherFile(abi.S_IFREG), perm: st.Mode & 0o7777, nlink: 1, host: o, seen: st}, out, abi.OK
	}
	n := fsys.newFile(abi.S_IFREG, perm)
	n.data().shares = p.parent.dir().shares
	return n, nil, fsys.addLocked(p.parent, p.name, n)
}

// openTmpfileLocked creates a file without a name, for O_TMPFILE in the directory p.
func (fsys *FS) openTmpfileLocked(p location, perm uint32, who actor) (*Node, abi.Errno) {
	switch {
	case p.node == nil:
		return nil, abi.ENOENT
	case !p.node.IsDir():
		return nil, abi.ENOTDIR
	}
	if e := p.node.writable(who); e != abi.OK {
		return nil, e
	}
	if p.node.host != nil {
		return nil, abi.EOPNOTSUPP
	}
	return fsys.newFile(abi.S_IFREG, perm), abi.OK
}

// openOldLocked checks that the existing file may be opened, and truncates it.
func (fsys *FS) openOldLocked(p location, flags uint32, who actor) abi.Errno {
	n := p.node
	switch {
	case n == nil:
		return abi.ENOENT
	case p.slash && !n.IsDir():
		return abi.ENOTDIR
	case flags&abi.O_PATH != 0 && flags&abi.O_DIRECTORY == 0:
		return abi.OK
	case n.link() != nil && flags&abi.O_DIRECTORY == 0:
		return abi.ELOOP
	case flags&abi.O_DIRECTORY != 0 && !n.IsDir():
		return abi.ENOTDIR
	case flags&abi.O_PATH != 0:
		return abi.OK
	}
	need := abi.R_OK
	switch flags & 3 {
	case abi.O_WRONLY:
		need = abi.W_OK
	case abi.O_RDWR:
		need = abi.R_OK | abi.W_OK
	}
	if flags&abi.O_TRUNC != 0 {
		need |= abi.W_OK
	}
	switch {
	case n.IsDir() && (need&abi.W_OK != 0 || flags&abi.O_CREAT != 0):
		return abi.EISDIR
	case n.readonly && need&abi.W_OK != 0:
		return abi.EROFS
	case !n.may(who, need):
		return abi.EACCES
	case n.Type() == abi.S_IFSOCK:
		return abi.ENXIO
	case n.host != nil && !n.IsDir() && n.Type() != abi.S_IFREG:
		return abi.EACCES // a pipe, a device, a socket: opening one does things, or waits
	}
	n.learn()
	if flags&abi.O_TRUNC != 0 && n.data() != nil {
		return fsys.setSizeLocked(n, 0)
	}
	return abi.OK
}

// attach opens what the file's kind of node needs beyond the node itself: a
// mounted file's reader, a FIFO's end, a device's stream.
func (f *File) attach(ctx context.Context, flags uint32) (e abi.Errno) {
	if flags&abi.O_PATH != 0 {
		return abi.OK
	}
	switch k := f.node.kind.(type) {
	case *source:
		if !f.fsys.handles.take(1) {
			return abi.EMFILE
		}
		if f.reader, e = k.open(); e != abi.OK {
			f.fsys.handles.give(1)
		}
	case *contents:
		return f.openBelow(k, flags)
	case *pipe:
		f.stream, e = k.open(ctx, &f.fsys.bytes, flags)
	case *device:
		f.stream, e = k.open(ctx, flags)
	}
	return e
}
