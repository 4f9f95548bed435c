package emscripten

import (
	"slices"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// descriptors is the table of open files: numbers to file descriptions.
type descriptors struct {
	open []descriptor
	max  int
}

type descriptor struct {
	file    *memfs.File // nil: free
	cloexec bool
}

// get returns the open file of a descriptor, or EBADF.
func (d *descriptors) get(fd int32) (*memfs.File, abi.Errno) {
	if e := d.at(fd); e != nil {
		return e.file, abi.OK
	}
	return nil, abi.EBADF
}

// at returns an open descriptor's entry, nil for one that is not open.
func (d *descriptors) at(fd int32) *descriptor {
	if fd < 0 || int(fd) >= len(d.open) || d.open[fd].file == nil {
		return nil
	}
	return &d.open[fd]
}

// standard returns the files of the standard descriptors.
func (d *descriptors) standard() (files [3]*memfs.File) {
	for fd := range files {
		if e := d.at(int32(fd)); e != nil {
			files[fd] = e.file
		}
	}
	return files
}

// add returns f the lowest free number from least on. It takes f over: if there
// is no number, f is closed.
func (d *descriptors) add(f *memfs.File, least int, cloexec bool) (int32, abi.Errno) {
	fd := least
	for fd < len(d.open) && d.open[fd].file != nil {
		fd++
	}
	if fd >= d.max {
		f.Close()
		return -1, abi.EMFILE
	}
	d.set(fd, f, cloexec)
	return int32(fd), abi.OK
}

// set puts f at fd, which must be free and below max.
func (d *descriptors) set(fd int, f *memfs.File, cloexec bool) {
	for len(d.open) <= fd {
		d.open = append(d.open, descriptor{})
	}
	d.open[fd] = descriptor{f, cloexec}
}

// lacks reports whether fewer than n numbers are free.
func (d *descriptors) lacks(n int) bool {
	free := d.max - len(d.open)
	for i := 0; i < len(d.open) && free < n; i++ {
		if d.open[i].file == nil {
			free++
		}
	}
	return free < n
}

func (d *descriptors) close(fd int32) abi.Errno {
	e := d.at(fd)
	if e == nil {
		return abi.EBADF
	}
	f := e.file
	*e = descriptor{}
	return f.Close()
}

func (d *descriptors) closeAll() {
	for fd := range d.open {
		d.close(int32(fd))
	}
}

// Inherited returns the open files of a child by its descriptors: with all, those
// that are not to be closed on exec but for the ones in except; and those of
// pairs, each a descriptor of the child and one of ours. They are borrowed.
func (p *Process) Inherited(pairs [][2]int32, all bool, except []int32) map[int]*memfs.File {
	files := map[int]*memfs.File{}
	for fd := range p.fds.open {
		if d := p.fds.open[fd]; d.file != nil && fd > 2 && all && !d.cloexec && !slices.Contains(except, int32(fd)) {
			files[fd] = d.file
		}
	}
	for _, pair := range pairs {
		if d := p.fds.at(pair[1]); d != nil && pair[0] >= 0 {
			files[int(pair[0])] = d.file
		}
	}
	return files
}

// File returns the open file of a descriptor, borrowed, or nil.
func (p *Process) File(fd int32) *memfs.File {
	if d := p.fds.at(fd); d != nil {
		return d.file
	}
	return nil
}

// AddFile adds a file as a descriptor that is closed on exec, and takes it over.
func (p *Process) AddFile(f *memfs.File) (int32, abi.Errno) { return p.fds.add(f, 0, true) }
