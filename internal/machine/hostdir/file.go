package hostdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Open implements [memfs.HostDir].
func (f *Dir) Open(name string, flags, perm uint32) (memfs.HostFile, abi.Errno) {
	var mode int
	switch flags & 3 {
	case abi.O_RDONLY:
		mode = os.O_RDONLY
	case abi.O_WRONLY:
		mode = os.O_WRONLY
	default:
		mode = os.O_RDWR
	}
	appends := flags&abi.O_APPEND != 0
	if appends {
		mode |= os.O_APPEND
	}
	if flags&abi.O_CREAT != 0 {
		return f.create(name, mode, perm, appends)
	}
	seek := f.seek
	if flags&3 != abi.O_RDONLY || flags&abi.O_TRUNC != 0 {
		seek = f.seekWritable
	}
	p, info, e := seek(name)
	if e != abi.OK {
		return nil, e
	}
	defer p.close()
	file, e := f.open(p, info, mode)
	if e != abi.OK {
		return nil, e
	}
	if flags&abi.O_TRUNC != 0 {
		// Not in open, which might empty something else.
		if err := f.truncate(p, info, file, flags); err != nil {
			file.Close()
			return nil, errno(err)
		}
	}
	return &openFile{f: file, appends: appends}, abi.OK
}

// truncate empties an open file. One that was opened for reading is opened
// once more.
func (f *Dir) truncate(p location, info fs.FileInfo, file *os.File, flags uint32) error {
	if flags&3 != abi.O_RDONLY {
		return file.Truncate(0)
	}
	w, e := f.open(p, info, os.O_WRONLY)
	if e != abi.OK {
		return e
	}
	defer w.Close()
	return w.Truncate(0)
}

// create makes a file that is not there.
func (f *Dir) create(name string, mode int, perm uint32, appends bool) (memfs.HostFile, abi.Errno) {
	p, e := f.vacant(name)
	if e != abi.OK {
		return nil, e
	}
	defer p.close()
	file, err := p.dir.OpenFile(p.base, mode|os.O_CREATE|os.O_EXCL, fs.FileMode(perm&0o777))
	if err != nil {
		return nil, errno(err)
	}
	return &openFile{f: file, appends: appends}, abi.OK
}

// open opens the regular file that info says is at p, and nothing else.
func (f *Dir) open(p location, info fs.FileInfo, mode int) (*os.File, abi.Errno) {
	switch {
	case info.IsDir():
		return nil, abi.EISDIR
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, abi.ELOOP
	case !info.Mode().IsRegular():
		return nil, abi.EACCES
	}
	f.looked()
	file, err := p.dir.OpenFile(p.base, mode|noWait, 0)
	if err != nil {
		return nil, errno(err)
	}
	now, err := file.Stat()
	if err != nil || !now.Mode().IsRegular() || !os.SameFile(info, now) {
		file.Close()
		return nil, changed
	}
	return file, abi.OK
}

// openFile implements [memfs.HostFile].
type openFile struct {
	f       *os.File
	appends bool
}

func (o *openFile) ReadAt(p []byte, off int64) (int, abi.Errno) {
	n, err := o.f.ReadAt(p, off)
	if n > 0 || errors.Is(err, io.EOF) {
		return n, abi.OK
	}
	return n, errno(err)
}

func (o *openFile) WriteAt(p []byte, off int64) (n int, e abi.Errno) {
	var err error
	if o.appends {
		n, err = o.f.Write(p)
	} else {
		n, err = o.f.WriteAt(p, off)
	}
	if n > 0 {
		return n, abi.OK
	}
	return 0, errno(err)
}

func (o *openFile) Truncate(size int64) abi.Errno { return errno(o.f.Truncate(size)) }
func (o *openFile) Sync() abi.Errno               { return errno(o.f.Sync()) }
func (o *openFile) Close()                        { o.f.Close() } // writes were not buffered

func (o *openFile) Stat() (abi.Stat, abi.Errno) {
	info, err := o.f.Stat()
	if err != nil {
		return abi.Stat{}, errno(err)
	}
	return stat(info), abi.OK
}

// listAtOnce is how many entries are read ahead.
const listAtOnce = 128

// List implements [memfs.HostDir].
func (f *Dir) List(name string) (memfs.HostList, abi.Errno) {
	p, info, e := f.seek(name)
	if e != abi.OK {
		return nil, e
	}
	defer p.close()
	if name != "." {
		if p, e = f.enter(p, p.base, name); e != abi.OK {
			return nil, e
		}
		defer p.close()
	} else if !info.IsDir() {
		return nil, abi.ENOTDIR
	}
	dir, err := p.dir.Open(".")
	if err != nil {
		return nil, errno(err)
	}
	return &list{root: f, name: name, dir: dir}, abi.OK
}

// list implements [memfs.HostList].
type list struct {
	root *Dir
	name string
	dir  *os.File
}

func (l *list) Close() { l.dir.Close() }

// Next returns the entries that the rules show. One that has vanished since it
// was listed is left out.
func (l *list) Next() ([]abi.Dirent, abi.Errno) {
	for {
		entries, err := l.dir.ReadDir(listAtOnce)
		var out []abi.Dirent
		for _, entry := range entries {
			name := entry.Name()
			if len(name) > abi.NAME_MAX || !l.root.rules.Read(path.Join(l.name, name)) {
				continue
			}
			info, err := entry.Info()
			if err != nil || among(info, l.root.denyRead) {
				continue
			}
			st := stat(info)
			out = append(out, abi.Dirent{Ino: st.Ino, Type: abi.DirentType(st.Mode), Name: name})
		}
		switch {
		case len(out) > 0 || errors.Is(err, io.EOF):
			return out, abi.OK
		case err != nil:
			return nil, errno(err)
		}
	}
}

// stat is what a guest sees of a file: all but who owns it, where UID is 0 for
// the host's user, who the guest is, and nobody's else.
func stat(info fs.FileInfo) abi.Stat {
	t := abi.NewTimespec(info.ModTime())
	st := abi.Stat{
		Dev: 2, Nlink: 1, Mode: abi.Mode(info.Mode()), Size: info.Size(), Blksize: 4096,
		Blocks: (info.Size() + 511) / 512, Atime: t, Mtime: t, Ctime: t,
	}
	system(&st, info)
	return st
}
