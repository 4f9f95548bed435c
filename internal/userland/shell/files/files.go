// Package files holds a shell's working directory, umask and descriptors, and looks up and
// tests paths with them.
package files

import (
	"coderunner/internal/machine/memfs"
	"maps"
	"slices"
)

// Files are the working directory, the umask and the descriptors of a shell.
type Files struct {
	FS      *memfs.FS
	Dir     string // the working directory
	Umask   uint32
	FDs     map[int]*memfs.File
	Coprocs []int    // descriptors that no other program gets
	Pushed  []string // directories of pushd, the last one first
}

// Fork returns the files of a subshell. They have to be closed.
func (fl *Files) Fork() Files {
	c := *fl
	c.Pushed = slices.Clip(fl.Pushed)
	c.FDs = make(map[int]*memfs.File, len(fl.FDs))
	for fd, f := range fl.FDs {
		c.FDs[fd] = f.Ref()
	}
	return c
}

// MaxFD is the highest descriptor that a redirection may name.
const MaxFD = 255

// Saved is what a descriptor was before a command's redirections.
type Saved struct {
	fd   int
	file *memfs.File // nil: it was closed
}

// Restore undoes redirections.
func (fl *Files) Restore(undo []Saved) {
	for i := len(undo) - 1; i >= 0; i-- {
		fl.Set(undo[i].fd, undo[i].file)
	}
}

// Keep makes redirections those of the shell: exec without a command.
func (fl *Files) Keep(undo []Saved) {
	for _, s := range undo {
		if s.file != nil {
			s.file.Close()
		}
	}
}

// Set makes f the file of a descriptor, nil closes it.
func (fl *Files) Set(fd int, f *memfs.File) {
	if old := fl.FDs[fd]; old != nil {
		old.Close()
	}
	if delete(fl.FDs, fd); f != nil {
		fl.FDs[fd] = f
	}
}

// Put makes f the file of a descriptor and remembers what was there.
func (fl *Files) Put(fd int, f *memfs.File, undo *[]Saved) {
	*undo = append(*undo, Saved{fd, fl.FDs[fd]})
	if delete(fl.FDs, fd); f != nil {
		fl.FDs[fd] = f
	}
}

// Replace makes f the file of a descriptor of a new subshell, if there is one.
func (fl *Files) Replace(fd int, f *memfs.File) {
	if f == nil {
		return
	}
	if old := fl.FDs[fd]; old != nil {
		old.Close()
	}
	fl.FDs[fd] = f
}

// Highest returns the highest free descriptor below 64, 0 if there is none.
func (fl *Files) Highest() int {
	fd := 63
	for fd > 9 && fl.FDs[fd] != nil {
		fd--
	}
	if fd == 9 {
		return 0
	}
	return fd
}

// Inherited returns the descriptors that another program gets.
func (fl *Files) Inherited() map[int]*memfs.File {
	if len(fl.Coprocs) == 0 {
		return fl.FDs
	}
	files := maps.Clone(fl.FDs)
	for _, fd := range fl.Coprocs {
		delete(files, fd)
	}
	return files
}

// Standard are the streams that a call begins with.
func (fl *Files) Standard() (files [3]*memfs.File) {
	for fd := range files {
		files[fd] = fl.FDs[fd]
	}
	return files
}

// Close closes the shell's descriptors.
func (fl *Files) Close() {
	for _, f := range fl.FDs {
		f.Close()
	}
	fl.FDs = nil
}
