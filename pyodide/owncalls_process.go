package pyodide

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
)

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
	s := kernel.Exec{Group: a.Group, Session: a.Session, Umask: in.proc.Umask(), Dir: in.proc.Cwd()}
	var paths []string
	for _, list := range []struct {
		to   *[]string
		from []string
	}{{&paths, a.Paths}, {&s.Args, a.Args}, {&s.Env, a.Env}} {
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
		err = eachPath(paths, s, in.process.Replace)
	} else {
		err = eachPath(paths, s, func(e kernel.Exec) error {
			c, err := in.process.Start(e)
			if err == nil {
				pid = c.PID()
			}
			return err
		})
	}
	var errno abi.Errno
	if errors.As(err, &errno) {
		return processAnswer{Errno: errno, Text: strings.TrimSuffix(err.Error(), ": "+errno.Error())}, nil
	}
	return processAnswer{PID: pid}, err
}

// eachPath calls start with s for one path after another until one can be executed.
func eachPath(paths []string, s kernel.Exec, start func(kernel.Exec) error) error {
	err := error(abi.ENOENT)
	for _, s.Path = range paths {
		if s.Path != "" && !strings.Contains(s.Path, "/") {
			s.Path = "./" + s.Path // it was looked up already
		}
		e := start(s)
		if !errors.Is(e, abi.ENOENT) && !errors.Is(e, abi.ENOTDIR) && !errors.Is(e, abi.EACCES) {
			return e
		}
		if err == error(abi.ENOENT) {
			err = e
		}
	}
	return err
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
	return []any{w.PID, int(w.Status), w.CPU.Seconds()}, nil
}

type killArgument struct{ PID, Signal int }

// callKill returns an errno.
func callKill(_ context.Context, in *instance, a killArgument, _ []byte) (any, error) {
	if in.process == nil {
		return abi.ENOSYS, nil
	}
	return in.process.Kill(a.PID, kernel.Signal(a.Signal)), nil
}

// callProcess returns the numbers of a process, 0 for the caller: its pid, its
// parent, its group and its session; or an errno.
func callProcess(_ context.Context, in *instance, pid int, _ []byte) (any, error) {
	if in.process == nil {
		return abi.ENOSYS, nil
	}
	of := in.process
	if pid != 0 {
		if of = of.Kernel().Process(pid); of == nil {
			return abi.ESRCH, nil
		}
	}
	return []any{in.process.PID(), in.process.Parent(), of.Group(), of.Session(), in.process.ChildCPU().Seconds()}, nil
}

// callProcessors returns the number of processors. In a snapshot that an import makes
// it is the host's, and noted.
func callProcessors(_ context.Context, in *instance, _ any, _ []byte) (any, error) {
	if in.process == nil {
		in.processors = runtime.GOMAXPROCS(0)
		return in.processors, nil
	}
	return in.process.Kernel().Processors(), nil
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
	f, errno := in.process.Kernel().OpenPID(pid)
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
