package memfs

import (
	"coderunner/pyodide/abi"
)

// outsideCookie is what cookies of a Folder's entries lie above: they count
// what the Folder has listed, the entries in memory come before.
const outsideCookie = 1 << 40

// listing is how far a Folder's list has been read.
type listing struct {
	list  FolderList
	ahead []abi.Dirent // taken from list, and by nobody else
	n     int64        // of those that were taken before
}

func (l *listing) close(fsys *FS) {
	l.list.Close()
	fsys.handles.give(1)
	*l = listing{}
}

// readOutside goes on with what a Folder has. Names that are in memory were
// listed before.
func (f *File) readOutside(emit func(abi.Dirent) bool) abi.Errno {
	l := &f.list
	skip := max(0, f.pos-outsideCookie)
	if l.list != nil && l.n > skip {
		l.close(f.fsys)
	}
	if l.list == nil {
		if !f.node.fresh() {
			return abi.ENOENT
		}
		if !f.fsys.handles.take(1) {
			return abi.EMFILE
		}
		var e abi.Errno
		if l.list, e = f.node.dir.under.folder.List(f.node.dir.under.name); e != abi.OK {
			f.fsys.handles.give(1)
			return e
		}
	}
	for {
		if len(l.ahead) == 0 {
			var e abi.Errno
			if l.ahead, e = l.list.Next(); e != abi.OK || len(l.ahead) == 0 {
				return e
			}
		}
		d := l.ahead[0]
		d.Off = outsideCookie + l.n + 1
		if l.n >= skip {
			if f.node.dir.entries[d.Name] == nil && !emit(d) {
				return abi.OK
			}
			f.pos = d.Off
		}
		l.ahead = l.ahead[1:]
		l.n++
	}
}

// writeOutside is writeAt for a Folder's file.
func (f *File) writeOutside(p []byte, off int64) (n int, end int64, e abi.Errno) {
	if len(p) == 0 {
		return 0, off, abi.OK
	}
	if f.flags.Load()&abi.O_APPEND != 0 {
		off = f.size()
	}
	if off > maxFileSize-int64(len(p)) {
		return 0, off, abi.EFBIG
	}
	n, e = f.out.WriteAt(p, off)
	return n, off + int64(n), e
}

// StatfsOf describes the file system that n is on.
func (fsys *FS) StatfsOf(n *Node) abi.Statfs {
	if n != nil && n.ext != nil {
		if st, ok := n.ext.folder.Statfs(); ok {
			return st
		}
	}
	return fsys.Statfs()
}
