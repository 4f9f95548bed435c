package hostdir

import (
	"io/fs"
	"os"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
)

// Lstat implements [memfs.HostDir].
func (f *Dir) Lstat(name string) (abi.Stat, abi.Errno) {
	p, info, e := f.seek(name)
	if e != abi.OK {
		return abi.Stat{}, e
	}
	defer p.close()
	return stat(info), abi.OK
}

// Readlink implements [memfs.HostDir].
func (f *Dir) Readlink(name string) (string, abi.Errno) {
	p, info, e := f.seek(name)
	if e != abi.OK {
		return "", e
	}
	defer p.close()
	if info.Mode()&fs.ModeSymlink == 0 {
		return "", abi.EINVAL
	}
	target, err := p.dir.Readlink(p.base)
	switch {
	case err != nil:
		return "", errno(err)
	case len(target) >= abi.PATH_MAX || strings.IndexByte(target, 0) >= 0:
		return "", abi.ENAMETOOLONG
	}
	return target, abi.OK
}

// Mkdir implements [memfs.HostDir].
func (f *Dir) Mkdir(name string, perm uint32) abi.Errno {
	p, e := f.vacant(name)
	if e != abi.OK {
		return e
	}
	defer p.close()
	return errno(p.dir.Mkdir(p.base, fs.FileMode(perm&0o777)))
}

// Remove implements [memfs.HostDir].
func (f *Dir) Remove(name string, dir bool) abi.Errno {
	if name == "." {
		return abi.EBUSY
	}
	p, info, e := f.seekWritable(name)
	if e != abi.OK {
		return e
	}
	defer p.close()
	switch {
	case dir && !info.IsDir():
		return abi.ENOTDIR
	case !dir && info.IsDir():
		return abi.EISDIR
	}
	return errno(p.dir.Remove(p.base))
}

// Rename implements [memfs.HostDir].
func (f *Dir) Rename(old, new string) abi.Errno {
	if old == "." || new == "." {
		return abi.EBUSY
	}
	from, info, e := f.seekWritable(old)
	if e != abi.OK {
		return e
	}
	defer from.close()
	to, e := f.vacant(new)
	if e != abi.OK {
		return e
	}
	defer to.close()
	if there, err := to.dir.Lstat(to.base); err == nil {
		if among(there, f.denyRead) || among(there, f.denyWrite) {
			return abi.EROFS
		}
	}
	if info.IsDir() && (f.rules.Holds(old) || f.rules.Holds(new)) {
		return abi.EBUSY
	}
	return f.rename(from, to, old, new)
}

// Chmod implements [memfs.HostDir]. Only the nine permission bits can be set.
func (f *Dir) Chmod(name string, perm uint32) abi.Errno {
	p, info, e := f.seekWritable(name)
	if e != abi.OK {
		return e
	}
	defer p.close()
	if info.Mode()&fs.ModeSymlink != 0 {
		return abi.EOPNOTSUPP
	}
	if info.Mode().IsRegular() {
		if file, e := f.open(p, info, os.O_RDONLY); e == abi.OK {
			defer file.Close()
			return errno(file.Chmod(fs.FileMode(perm & 0o777)))
		}
	}
	if info.IsDir() && p.base != "." {
		if self, e := f.enter(p, p.base, name); e == abi.OK {
			defer self.close()
			p = location{dir: self.dir, base: "."}
		}
	}
	// What cannot be opened is changed by its name: a link that took it within
	// the moment leads to a place in the same directory, at worst.
	return errno(p.dir.Chmod(p.base, fs.FileMode(perm&0o777)))
}

// SetTimes implements [memfs.HostDir].
func (f *Dir) SetTimes(name string, atime, mtime abi.Timespec) abi.Errno {
	p, info, e := f.seekWritable(name)
	if e != abi.OK {
		return e
	}
	defer p.close()
	if info.Mode()&fs.ModeSymlink != 0 {
		return abi.EOPNOTSUPP // os.Root would follow it
	}
	return errno(p.dir.Chtimes(p.base, when(atime), when(mtime)))
}

// when is t for Chtimes, which leaves a time alone if it is zero.
func when(t abi.Timespec) time.Time {
	switch t.Nsec {
	case abi.UTIME_NOW:
		return time.Now()
	case abi.UTIME_OMIT:
		return time.Time{}
	}
	return t.Time()
}
