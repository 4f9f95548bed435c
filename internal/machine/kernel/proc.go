package kernel

import (
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Release is the release of Linux that programs are told of.
const Release = "6.1.0"

// machineDirs are directories of /sys that programs list: a disk, and no battery.
var machineDirs = []string{"/proc", "/sys/block/vda", "/sys/class/power_supply"}

// procfs is /proc: what proc(5) has about processes and a machine, of which nothing is
// the host's. What the kernel does not count is 0. A process's descriptors are only
// the standard ones, and /proc/self is the main process.
type procfs struct{ k *Kernel }

var _ memfs.HostDir = procfs{}

// procEntry is what a name of /proc stands for.
type procEntry struct {
	text func() string // of a file
	link string
	list []string // of a directory
}

// find returns the entry of a path below /proc.
func (f procfs) find(name string) (procEntry, abi.Errno) {
	dir, rest, _ := strings.Cut(name, "/")
	if pid, err := strconv.Atoi(dir); err == nil {
		p := f.k.unreaped(pid)
		if p == nil || strconv.Itoa(pid) != dir {
			return procEntry{}, abi.ENOENT
		}
		return p.entry(strings.TrimPrefix(rest, "task/"+dir+"/"))
	}
	switch text := machineFiles[name]; {
	case text != nil:
		return procEntry{text: func() string { return text(f.k) }}, abi.OK
	case name == "self":
		return procEntry{link: strconv.Itoa(firstPID)}, abi.OK
	case name == "mounts":
		return procEntry{link: "self/mounts"}, abi.OK
	case name == ".":
		list := names(machineFiles, "self", "mounts", "net", "sys")
		for _, p := range f.k.Processes() {
			if f.k.unreaped(p.pid) != nil {
				list = append(list, strconv.Itoa(p.pid))
			}
		}
		return procEntry{list: list}, abi.OK
	}
	if list := below(name); list != nil {
		return procEntry{list: list}, abi.OK
	}
	return procEntry{}, abi.ENOENT
}

// unreaped returns a process that has a directory, nil without one.
func (k *Kernel) unreaped(pid int) *Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.processes[pid]; p != nil && !k.reapedLocked(p) {
		return p
	}
	return nil
}

// below returns the sorted names in a directory of machineFiles.
func below(dir string) (list []string) {
	for name := range machineFiles {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			list = append(list, first)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// entry returns the entry of a path below a process's directory.
func (p *Process) entry(name string) (procEntry, abi.Errno) {
	p.k.mu.Lock()
	exe, dir := p.Path, p.dir
	p.k.mu.Unlock()
	pid := strconv.Itoa(p.pid)
	switch text := processFiles[name]; {
	case text != nil:
		return procEntry{text: func() string { return text(p) }}, abi.OK
	case name == "", name == "task/"+pid:
		return procEntry{list: names(processFiles, "exe", "cwd", "root", "fd", "task")}, abi.OK
	case name == "exe" && strings.HasPrefix(exe, "/"):
		return procEntry{link: exe}, abi.OK
	case name == "cwd":
		return procEntry{link: dir}, abi.OK
	case name == "root":
		return procEntry{link: "/"}, abi.OK
	case name == "task":
		return procEntry{list: []string{pid}}, abi.OK
	case name == "fd":
		return procEntry{list: []string{"0", "1", "2"}}, abi.OK
	case name == "fd/0", name == "fd/1", name == "fd/2":
		return procEntry{link: []string{"/dev/stdin", "/dev/stdout", "/dev/stderr"}[name[3]-'0']}, abi.OK
	}
	return procEntry{}, abi.ENOENT
}

// names returns the sorted names of files and others. Those of a subdirectory are
// left out.
func names[V any](files map[string]V, others ...string) []string {
	for name := range files {
		if !strings.Contains(name, "/") {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return others
}

func (e procEntry) mode() uint32 {
	switch {
	case e.text != nil:
		return abi.S_IFREG | 0o444
	case e.link != "":
		return abi.S_IFLNK | 0o777
	}
	return abi.S_IFDIR | 0o555
}

func (f procfs) stat(name string, e procEntry) abi.Stat {
	began := abi.Timespec{Sec: f.k.began.Unix()}
	return abi.Stat{
		Dev: 2, Mode: e.mode(), Nlink: 1, Blksize: 1024, Ino: hashName(name), Atime: began, Mtime: began, Ctime: began,
	}
}

// hashName returns FNV-1a of a name, as its inode number.
func hashName(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64() >> 1 // as a signed number, too
}

// Lstat implements [memfs.HostDir], as the other methods do.
func (f procfs) Lstat(name string) (abi.Stat, abi.Errno) {
	e, errno := f.find(name)
	return f.stat(name, e), errno
}

func (f procfs) Readlink(name string) (string, abi.Errno) {
	e, errno := f.find(name)
	if errno == abi.OK && e.link == "" {
		errno = abi.EINVAL
	}
	return e.link, errno
}

func (f procfs) Open(name string, flags, _ uint32) (memfs.HostFile, abi.Errno) {
	e, errno := f.find(name)
	switch {
	case flags&(abi.O_ACCMODE|abi.O_CREAT|abi.O_TRUNC) != 0 || errno == abi.OK && e.text == nil:
		return nil, abi.EACCES
	case errno != abi.OK:
		return nil, errno
	}
	return &procFile{f.stat(name, e), sync.OnceValue(e.text)}, abi.OK
}

func (f procfs) List(name string) (memfs.HostList, abi.Errno) {
	e, errno := f.find(name)
	if errno != abi.OK {
		return nil, errno
	}
	list := make([]abi.Dirent, 0, len(e.list))
	for _, n := range e.list {
		at := path.Join(name, n)
		if child, errno := f.find(at); errno == abi.OK {
			list = append(list, abi.Dirent{Name: n, Ino: hashName(at), Type: uint8(child.mode() >> 12)})
		}
	}
	return &procList{list}, abi.OK
}

func (procfs) Mkdir(string, uint32) abi.Errno                        { return abi.EACCES }
func (procfs) Remove(string, bool) abi.Errno                         { return abi.EACCES }
func (procfs) Rename(string, string) abi.Errno                       { return abi.EACCES }
func (procfs) Chmod(string, uint32) abi.Errno                        { return abi.EACCES }
func (procfs) SetTimes(string, abi.Timespec, abi.Timespec) abi.Errno { return abi.EACCES }
func (procfs) Writable(string) bool                                  { return false }

// procFile is an open file of /proc, whose text is of the time when it is first read.
type procFile struct {
	stat abi.Stat
	text func() string
}

func (f *procFile) ReadAt(p []byte, off int64) (int, abi.Errno) {
	s := f.text()
	return copy(p, s[min(off, int64(len(s))):]), abi.OK
}

func (*procFile) WriteAt([]byte, int64) (int, abi.Errno) { return 0, abi.EBADF }
func (*procFile) Truncate(int64) abi.Errno               { return abi.EINVAL }
func (*procFile) Sync() abi.Errno                        { return abi.EINVAL }
func (f *procFile) Stat() (abi.Stat, abi.Errno)          { return f.stat, abi.OK }
func (*procFile) Close()                                 {}

type procList struct{ left []abi.Dirent }

func (l *procList) Next() ([]abi.Dirent, abi.Errno) {
	list := l.left
	l.left = nil
	return list, abi.OK
}

func (*procList) Close() {}
