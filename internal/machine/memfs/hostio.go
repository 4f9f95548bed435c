package memfs

import (
	"coderunner/internal/machine/abi"
)

// hostCookie is the base of the cookies of a HostDir's entries, which count what
// the HostDir has listed. Entries in memory come first, with smaller cookies.
const hostCookie = 1 << 40

func (l *listing) close(fsys *FS) {
	l.list.Close()
	fsys.handles.give(1)
	*l = listing{}
}

// readHost continues ReadDir with the entries of the lower directory that no
// name in memory hides. f.mu and FS.mu are held.
func (f *File) readHost(emit func(abi.Dirent) bool) abi.Errno {
	l := &f.list
	skip := max(0, f.pos-hostCookie)
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
		if l.list, e = f.node.dir().lower.dir.List(f.node.dir().lower.name); e != abi.OK {
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
		d.Off = hostCookie + l.n + 1
		if l.n >= skip {
			if f.node.dir().entries[d.Name] == nil && !emit(d) {
				return abi.OK
			}
			f.pos = d.Off
		}
		l.ahead = l.ahead[1:]
		l.n++
	}
}

// writeHost is writeAt for a file of a HostDir.
func (f *File) writeHost(p []byte, off int64) (n int, end int64, e abi.Errno) {
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
