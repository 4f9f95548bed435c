package preview1

import (
	"context"
	"fmt"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/hostfn"
)

// Process is what the imports of one module work on.
type Process struct {
	k     *kernel.Process
	fs    *memfs.FS
	mem   hostfn.Mem
	args  []string
	env   []string
	fds   []descriptor
	zero  time.Time     // when the process began
	ahead time.Duration // what the monotonic clock showed then
	idle  time.Duration // that it has waited for others

	// Looked, if not nil, is called with the path of each file that the module looks for,
	// whether it is there or not.
	Looked func(name string)
}

type descriptor struct {
	file    *memfs.File // nil: the number is free
	preopen string      // the name of a directory that was open from the start
}

// maxDescriptors bounds the open files of a process.
const maxDescriptors = 1024

// New returns the state of a module that runs as the process k. Close ends it.
func New(k *kernel.Process) (*Process, error) {
	p := &Process{k: k, fs: k.FS(), zero: time.Now(), args: k.Args, env: k.Env}
	for fd := range 3 {
		f := k.File(fd)
		if f != nil {
			f.Ref()
		}
		p.fds = append(p.fds, descriptor{file: f})
	}
	if err := p.openDirs(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// openDirs opens the directories that are open from the start. A C library that finds two
// that a path may be relative to takes the one with the longer name, or else the last.
func (p *Process) openDirs() error {
	root, err := p.openDir("/", "/")
	if err != nil {
		return err
	}
	var names []string
	root.ReadDir(func(e abi.Dirent) bool {
		if e.Name != "." && e.Name != ".." && (e.Type == abi.DT_DIR || e.Type == abi.DT_LNK || e.Type == abi.DT_UNKNOWN) {
			names = append(names, "/"+e.Name)
		}
		return true
	})
	if _, errno := root.SeekTo(0, abi.SEEK_SET); errno != abi.OK {
		return errno
	}
	for _, name := range names {
		_, _ = p.openDir(name, name) // it may be none, or not ours to read
	}
	_, err = p.openDir(p.k.Dir, ".")
	return err
}

func (p *Process) openDir(name, as string) (*memfs.File, error) {
	f, errno := p.fs.Open(context.Background(), nil, name, abi.O_RDONLY|abi.O_DIRECTORY|abi.O_NONBLOCK, 0)
	if errno == abi.OK {
		_, errno = p.add(f, as)
	}
	if errno != abi.OK {
		return nil, fmt.Errorf("open %s: %w", name, errno)
	}
	return f, nil
}

// Close closes all descriptors.
func (p *Process) Close() {
	for fd := range p.fds {
		p.closeFD(uint32(fd))
	}
}

// Attach sets the module's memory.
func (p *Process) Attach(mem hostfn.Mem) { p.mem = mem }

// Busy returns the time since the process began in which it did not wait for others.
func (p *Process) Busy() time.Duration { return time.Since(p.zero) - p.idle }

// Dirs returns the names of the directories that are open from the start, by their descriptors.
func (p *Process) Dirs() (names []string) {
	for _, d := range p.fds {
		names = append(names, d.preopen)
	}
	return names
}

// Bare has the module find no environment, and no arguments but these.
func (p *Process) Bare(args ...string) { p.args, p.env = args, nil }

// Clock returns what the monotonic clock shows; Advance has it show at least t.
func (p *Process) Clock() time.Duration { return time.Since(p.zero) + p.ahead }

// Advance is for a module that has begun elsewhere.
func (p *Process) Advance(t time.Duration) { p.ahead = t }

// Replace has a standard descriptor be another file, which it takes over.
func (p *Process) Replace(fd uint32, f *memfs.File) {
	p.closeFD(fd)
	p.fds[fd] = descriptor{file: f}
}

func (p *Process) add(f *memfs.File, preopen string) (uint32, abi.Errno) {
	fd := 3 // a standard descriptor that was closed stays free
	for fd < len(p.fds) && p.fds[fd].file != nil {
		fd++
	}
	if fd >= maxDescriptors {
		f.Close()
		return 0, abi.EMFILE
	}
	for len(p.fds) <= fd {
		p.fds = append(p.fds, descriptor{})
	}
	p.fds[fd] = descriptor{f, preopen}
	return uint32(fd), abi.OK
}

// at returns an open descriptor, nil for a number that is free.
func (p *Process) at(fd uint32) *descriptor {
	if uint64(fd) >= uint64(len(p.fds)) || p.fds[fd].file == nil {
		return nil
	}
	return &p.fds[fd]
}

func (p *Process) closeFD(fd uint32) abi.Errno {
	d := p.at(fd)
	if d == nil {
		return abi.EBADF
	}
	f := d.file
	*d = descriptor{}
	return f.Close()
}

// key is the context's key of a process.
type key struct{}

// Context returns a context for calls of the process's module.
func (p *Process) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// FromContext returns the process of a call.
func FromContext(ctx context.Context) *Process { return ctx.Value(key{}).(*Process) }

// Caller returns the machine's process of a call, nil if ctx is not one's.
func Caller(ctx context.Context) *kernel.Process {
	if p, ok := ctx.Value(key{}).(*Process); ok {
		return p.k
	}
	return nil
}

// Exit is the end that a module asked for.
type Exit struct{ Code uint32 }

func (e *Exit) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// Stopped is the end of a module whose process was ended while it was in a host function.
type Stopped struct{ Err error }

func (e *Stopped) Error() string { return "stopped: " + e.Err.Error() }
func (e *Stopped) Unwrap() error { return e.Err }

// Sleep waits for a time, or ends the module if the process ends before.
func (p *Process) Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	_, _ = call{Process: p, ctx: ctx}.waiting(func(ctx context.Context) (int, abi.Errno) {
		_, errno := memfs.Poll(ctx, nil, timer.C)
		return 0, errno
	})
}
