package pyodide

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Process is the process of an interpreter's program in a table of processes that
// the host keeps. It is safe for concurrent use.
type Process interface {
	// PID, Parent, Group and Session are its numbers. Group and Session take a
	// process, 0 for this one.
	PID() int
	Parent() int
	Group(pid int) (int, abi.Errno)
	Session(pid int) (int, abi.Errno)
	SetGroup(pid, group int) abi.Errno
	SetSession() abi.Errno

	// Start starts a child. Its error wraps an [abi.Errno]. Replace makes the
	// process another program's when this one ends, which is then to be soon.
	Start(Spawn) (pid int, err error)
	Replace(Spawn) error

	// Wait is waitpid(2): ctx's end is EINTR.
	Wait(ctx context.Context, pid, options int) (Waited, abi.Errno)
	Kill(pid, signal int) abi.Errno
	OpenPID(pid int) (*memfs.File, abi.Errno)

	// Handle has f called with signals that other processes send, from any
	// goroutine. It reports whether the program takes the signal.
	Handle(f func(signal int) bool)
	// ChildTime is the processor time of the children that were waited for.
	ChildTime() time.Duration
	// Processors is the number of processors that the program is told of.
	Processors() int
}

// Waited is a child that has ended, with its status as wait(2) has it. A PID of 0 is
// none.
type Waited struct {
	PID, Status int
	CPU         time.Duration
}

// Spawn is a process to start.
type Spawn struct {
	Paths []string // the first that can be executed
	Args  []string
	Env   []string // "NAME=value"
	Dir   string
	Umask uint32
	Files map[int]*memfs.File // borrowed

	Group   int // to join; 0: the parent's, -1: a new one
	Session bool
}

// maxSpawn bounds arguments and environment of a process, in JSON.
const maxSpawn = 2 << 20

type spawnArgument struct {
	Paths, Args []string
	Env         []string
	Cwd         *string
	Map         [][2]int32 // descriptors of the child, and of ours which they are
	All         bool       // inherit all others that are not to be closed
	Close       []int32    // but these
	Umask       int64      // -1: the same
	Group       int
	Session     bool
	Replace     bool
}

// processAnswer is an errno with a text that says more, or a pid.
type processAnswer struct {
	PID   int       `json:"pid,omitempty"`
	Errno abi.Errno `json:"errno,omitempty"`
	Cwd   bool      `json:"cwd,omitempty"` // the errno is the working directory's
	Text  string    `json:"text,omitempty"`
}

var errNoProcesses = errors.New("there are no processes here")

func callSpawn(_ context.Context, in *instance, a spawnArgument, _ []byte) (any, error) {
	if in.process == nil {
		return processAnswer{Errno: abi.ENOSYS, Text: errNoProcesses.Error()}, nil
	}
	s := Spawn{Group: a.Group, Session: a.Session, Umask: in.proc.Umask(), Dir: in.proc.Cwd()}
	for _, list := range []struct {
		to   *[]string
		from []string
	}{{&s.Paths, a.Paths}, {&s.Args, a.Args}, {&s.Env, a.Env}} {
		for _, text := range list.from {
			b, err := guestPath(text)
			if err != nil {
				return nil, err
			}
			*list.to = append(*list.to, b)
		}
	}
	if a.Umask >= 0 {
		s.Umask = uint32(a.Umask) & 0o777
	}
	if a.Cwd != nil {
		dir, err := guestPath(*a.Cwd)
		if err != nil {
			return nil, err
		}
		var errno abi.Errno
		if s.Dir, errno = in.proc.ResolveDir(dir); errno != abi.OK {
			return processAnswer{Errno: errno, Cwd: true}, nil
		}
	}
	s.Files = in.proc.Inherited(a.Map, a.All, a.Close)
	var pid int
	var err error
	if a.Replace {
		err = in.process.Replace(s)
	} else {
		pid, err = in.process.Start(s)
	}
	var errno abi.Errno
	if errors.As(err, &errno) {
		return processAnswer{Errno: errno, Text: strings.TrimSuffix(err.Error(), ": "+errno.Error())}, nil
	}
	return processAnswer{PID: pid}, err
}

type waitArgument struct{ PID, Options int }

// callWait returns the pid, the status and the processor time in seconds, or an
// errno.
func callWait(ctx context.Context, in *instance, a waitArgument, _ []byte) (any, error) {
	if in.process == nil {
		return abi.ECHILD, nil
	}
	w, errno := in.process.Wait(ctx, a.PID, a.Options)
	if errno != abi.OK {
		return errno, nil
	}
	return []any{w.PID, w.Status, w.CPU.Seconds()}, nil
}

type killArgument struct{ PID, Signal int }

// callKill returns an errno.
func callKill(_ context.Context, in *instance, a killArgument, _ []byte) (any, error) {
	if in.process == nil {
		return abi.ENOSYS, nil
	}
	return in.process.Kill(a.PID, a.Signal), nil
}

// callProcess returns the numbers of a process, 0 for the caller: its pid, its
// parent, its group and its session; or an errno.
func callProcess(_ context.Context, in *instance, pid int, _ []byte) (any, error) {
	if in.process == nil {
		return abi.ENOSYS, nil
	}
	group, errno := in.process.Group(pid)
	if errno != abi.OK {
		return errno, nil
	}
	session, errno := in.process.Session(pid)
	if errno != abi.OK {
		return errno, nil
	}
	return []any{in.process.PID(), in.process.Parent(), group, session, in.process.ChildTime().Seconds()}, nil
}

// callProcessors returns the number of processors. In a snapshot that an import makes
// it is the host's, and noted.
func callProcessors(_ context.Context, in *instance, _ any, _ []byte) (any, error) {
	if in.process == nil {
		in.processors = runtime.GOMAXPROCS(0)
		return in.processors, nil
	}
	return in.process.Processors(), nil
}

type groupArgument struct{ PID, Group int }

func callSetGroup(_ context.Context, in *instance, a groupArgument, _ []byte) (any, error) {
	if in.process == nil {
		return abi.ENOSYS, nil
	}
	return in.process.SetGroup(a.PID, a.Group), nil
}

func callSetSession(_ context.Context, in *instance, _ any, _ []byte) (any, error) {
	if in.process == nil {
		return abi.ENOSYS, nil
	}
	return in.process.SetSession(), nil
}

// callOpenPID returns a descriptor, or an errno made negative.
func callOpenPID(_ context.Context, in *instance, pid int, _ []byte) (any, error) {
	if in.process == nil {
		return -int(abi.ENOSYS), nil
	}
	f, errno := in.process.OpenPID(pid)
	if errno != abi.OK {
		return -errno.Linux(), nil
	}
	fd, errno := in.proc.AddFile(f)
	if errno != abi.OK {
		return -errno.Linux(), nil
	}
	return fd, nil
}

type signalArgument struct {
	Signal int
	Action string
}

// callSignal notes what the program does about a signal.
func callSignal(_ context.Context, in *instance, a signalArgument, _ []byte) (any, error) {
	action, ok := map[string]action{"default": defaultAction, "ignore": ignored, "handle": handled}[a.Action]
	if !ok || a.Signal <= 0 || a.Signal > maxSignal {
		return nil, errors.New("no such signal")
	}
	in.signals.act(a.Signal, action)
	return nil, nil
}

// closeFiles closes what nobody has taken.
func closeFiles(files map[int]*memfs.File) {
	for _, fd := range slices.Sorted(maps.Keys(files)) {
		files[fd].Close()
	}
}
