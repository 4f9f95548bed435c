// Package hostdir shows a directory of the host to a guest, as a [memfs.HostDir]:
// what the guest does in it is done on the host's disk, within rules.
//
// # How nothing gets out
//
// A name is walked one element at a time. Each directory on the way is opened in
// the one before, as an [os.Root] of its own, and must be the very directory that
// was seen there, which was no link. So no link is followed, wherever it leads
// and whenever it is put there, and ".." is never asked of the host. Every
// element has to pass the rules.
//
// Links are shown as links. memfs follows them, by the names that the guest knows: a link to
// a file that is not mounted leads nowhere.
//
// Only regular files are opened, and without waiting: a pipe that takes a
// file's place in the last moment is noticed before it is read or written.
//
// # Hard links
//
// A hard link is a file like any other: whoever can put one into a directory that
// programs work in lets them have the file. Programs cannot make any.
//
// # Locking
//
// None: a Dir keeps nothing but its root and rules. Its methods may be
// called from several goroutines, until the root is closed.
//
// # Limits
//
// Rules are about names. What they deny is also recognised by its identity (a directory that
// is mounted twice, names that differ in case) as of the time [New] was called. If the
// directory's file system hangs, so does the guest. File systems that are views of the
// kernel (proc, sysfs, …) are not entered on Linux; elsewhere they are not recognised.
//
// # Testing
//
// A model test that does the same things here and with package os, and tests
// in which links, pipes and directories change places all the time.
package hostdir

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Rules say what of a directory there is to a guest. Names are as in
// [memfs.HostDir]; a directory that cannot be read hides all below it.
type Rules struct {
	Read  func(name string) bool
	Write func(name string) bool // of a name that can be read
	// Holds reports whether something below the directory at name is denied: moving the
	// directory would take it out of the denial.
	Holds func(name string) bool
	// DenyRead and DenyWrite are files and directories of the host that are denied
	// by whatever name they are met.
	DenyRead, DenyWrite []string
}

// Dir is a directory of the host.
type Dir struct {
	root                *os.Root
	rules               Rules
	denyRead, denyWrite []fs.FileInfo

	// seen, if a test has set it, is called when something has been looked at
	// and is about to be opened.
	seen func()
}

func (f *Dir) looked() {
	if f.seen != nil {
		f.seen()
	}
}

var _ memfs.HostDir = (*Dir)(nil)

// New shows root, which the caller closes when no guest uses the directory any
// more.
func New(root *os.Root, rules Rules) *Dir {
	infos := func(names []string) (out []fs.FileInfo) {
		for _, name := range names {
			if info, err := os.Stat(name); err == nil {
				out = append(out, info)
			}
		}
		return out
	}
	if info, err := root.Lstat("."); err != nil || kernelView(info, root) {
		rules.Read = func(string) bool { return false }
	}
	return &Dir{root: root, rules: rules, denyRead: infos(rules.DenyRead), denyWrite: infos(rules.DenyWrite)}
}

func among(info fs.FileInfo, list []fs.FileInfo) bool {
	return slices.ContainsFunc(list, func(other fs.FileInfo) bool { return os.SameFile(info, other) })
}

// location is a name in an open directory.
type location struct {
	dir      *os.Root
	base     string // "." for the directory itself
	writable bool   // as far as the directories above are concerned
	opened   bool   // dir is to be closed
}

func (p location) close() {
	if p.opened {
		p.dir.Close()
	}
}

// changed is what a walk ends with that met something else than it had seen.
const changed = abi.ENOENT

// walk opens the directory that name is in. The caller closes the place.
func (f *Dir) walk(name string) (location, abi.Errno) {
	p := location{dir: f.root, base: name, writable: true}
	if name == "." {
		return p, abi.OK
	}
	for at := 0; ; {
		i := strings.IndexByte(name[at:], '/')
		if i < 0 {
			p.base = name[at:]
			return p, abi.OK
		}
		next, e := f.enter(p, name[at:at+i], name[:at+i])
		p.close()
		if e != abi.OK {
			return location{}, e
		}
		p, at = next, at+i+1
	}
}

// enter opens the directory base in p, whose whole name is given.
func (f *Dir) enter(p location, base, name string) (location, abi.Errno) {
	info, e := f.look(p.dir, base, name)
	switch {
	case e != abi.OK:
		return location{}, e
	case info.Mode()&fs.ModeSymlink != 0:
		return location{}, abi.ELOOP
	case !info.IsDir():
		return location{}, abi.ENOTDIR
	}
	// As not the last element base is opened as a directory or not at all; what
	// is one in the last element might be waited for.
	f.looked()
	dir, err := p.dir.OpenRoot(base + "/.")
	if err != nil {
		return location{}, errno(err)
	}
	next := location{dir: dir, base: ".", writable: p.writable && !among(info, f.denyWrite), opened: true}
	now, err := dir.Lstat(".")
	if err != nil || !os.SameFile(info, now) || kernelView(info, dir) {
		next.close()
		return location{}, changed
	}
	return next, abi.OK
}

// look is Lstat of base, whose whole name is given, for what the rules show.
func (f *Dir) look(dir *os.Root, base, name string) (fs.FileInfo, abi.Errno) {
	if name != "." && !f.rules.Read(name) {
		return nil, abi.ENOENT
	}
	info, err := dir.Lstat(base)
	switch {
	case err != nil:
		return nil, errno(err)
	case among(info, f.denyRead):
		return nil, abi.ENOENT
	}
	return info, abi.OK
}

// seek finds something that is there. The caller closes the place.
func (f *Dir) seek(name string) (location, fs.FileInfo, abi.Errno) {
	p, e := f.walk(name)
	if e != abi.OK {
		return p, nil, e
	}
	info, e := f.look(p.dir, p.base, name)
	if e != abi.OK {
		p.close()
		return p, nil, e
	}
	return p, info, abi.OK
}

// seekWritable is seek for something that is to be changed or removed.
func (f *Dir) seekWritable(name string) (location, fs.FileInfo, abi.Errno) {
	if !f.Writable(name) {
		return location{}, nil, abi.EROFS
	}
	p, info, e := f.seek(name)
	if e == abi.OK && (!p.writable || among(info, f.denyWrite)) {
		p.close()
		return p, nil, abi.EROFS
	}
	return p, info, e
}

// vacant finds the place of a name that is to be made; whether it is there is
// for the host to say. The caller closes the place.
func (f *Dir) vacant(name string) (location, abi.Errno) {
	if name == "." {
		return location{}, abi.EEXIST
	}
	if !f.Writable(name) {
		return location{}, abi.EROFS
	}
	p, e := f.walk(name)
	if e == abi.OK && !p.writable {
		p.close()
		return p, abi.EROFS
	}
	return p, e
}

// Writable implements [memfs.HostDir].
func (f *Dir) Writable(name string) bool {
	return f.rules.Read(name) && f.rules.Write(name)
}
