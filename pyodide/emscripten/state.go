package emscripten

import (
	"context"
	"errors"
	"fmt"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// State is what a process has beside its memory and files, when nothing runs.
type State struct {
	Cwd   string
	Umask uint32
	Files []OpenFile
}

// OpenFile is a descriptor behind the three standard ones.
type OpenFile struct {
	FD          int32
	Path        string
	Flags       uint32
	Pos         int64
	CloseOnExec bool
	Same        int32 // the descriptor that it was duplicated from; 0: none
}

// State returns it. Its error names what cannot be kept: pipes, sockets and other
// streams, files without a name, mapped files, timers, and standard
// descriptors that are something else by now.
func (p *Process) State() (s State, err error) {
	var errno abi.Errno
	if s.Cwd, errno = p.fs.PathOf(p.cwd); errno != abi.OK {
		return s, fmt.Errorf("the working directory: %w", errno.Err())
	}
	s.Umask = p.umask
	for which := range p.Timers.set {
		if left, _ := p.Timers.Get(uint32(which)); left > 0 {
			return s, fmt.Errorf("interval timer %d is set", which)
		}
	}
	if len(p.mappings) > 0 {
		return s, errors.New("a file is mapped (mmap)")
	}
	seen := map[*memfs.File]int32{}
	for fd := range p.fds.open {
		d := p.fds.open[fd]
		if fd < len(p.stdio) {
			if d.file == nil || d.file.Stream() != p.stdio[fd] {
				return s, fmt.Errorf("standard descriptor %d is closed, or another file", fd)
			}
			seen[d.file] = int32(fd)
			continue
		}
		if d.file == nil {
			continue
		}
		o := OpenFile{FD: int32(fd), Flags: d.file.Flags(), CloseOnExec: d.cloexec}
		if first, ok := seen[d.file]; ok {
			o.Same = first
		} else if err := p.saveFile(d.file, &o); err != nil {
			return s, err
		}
		seen[d.file] = int32(fd)
		s.Files = append(s.Files, o)
	}
	return s, nil
}

func (p *Process) saveFile(f *memfs.File, o *OpenFile) error {
	if f.Node() == nil || f.Stream() != nil {
		return fmt.Errorf("descriptor %d is a pipe, a socket, a TLS connection or a device", o.FD)
	}
	if o.Path = p.fs.NameOf(f.Node()); o.Path == "" {
		return fmt.Errorf("descriptor %d is a file of the host, or one that has no name any more", o.FD)
	}
	const seekCur = 1
	var errno abi.Errno
	if o.Pos, errno = f.SeekTo(0, seekCur); errno != abi.OK {
		return fmt.Errorf("descriptor %d (%s): %w", o.FD, o.Path, errno.Err())
	}
	return nil
}

// Restore returns a new process the state of an earlier one, whose files are
// there.
func (p *Process) Restore(s State) error {
	if err := p.Chdir(s.Cwd); err != nil {
		return fmt.Errorf("restore the working directory %s: %w", s.Cwd, err)
	}
	p.umask = s.Umask
	for _, o := range s.Files {
		if o.FD < int32(len(p.stdio)) || int(o.FD) >= p.fds.max || p.fds.at(o.FD) != nil {
			return fmt.Errorf("restore descriptor %d: it is not free", o.FD)
		}
		f, err := p.restoreFile(o)
		if err != nil {
			return fmt.Errorf("restore descriptor %d: %w", o.FD, err)
		}
		p.fds.set(int(o.FD), f, o.CloseOnExec)
	}
	return nil
}

func (p *Process) restoreFile(o OpenFile) (*memfs.File, error) {
	if o.Path == "" {
		f, errno := p.fds.get(o.Same)
		if errno != abi.OK {
			return nil, errno.Err()
		}
		return f.Ref(), nil
	}
	f, errno := p.fs.Open(context.Background(), nil, o.Path, o.Flags&^(abi.O_CREAT|abi.O_EXCL|abi.O_TRUNC), 0)
	if errno != abi.OK {
		return nil, fmt.Errorf("%s: %w", o.Path, errno.Err())
	}
	if _, errno := f.SeekTo(o.Pos, 0); errno != abi.OK {
		f.Close()
		return nil, fmt.Errorf("%s: %w", o.Path, errno.Err())
	}
	return f, nil
}

// OpenFiles is the number of open descriptors.
func (p *Process) OpenFiles() (n int) {
	for i := range p.fds.open {
		if p.fds.open[i].file != nil {
			n++
		}
	}
	return n
}
