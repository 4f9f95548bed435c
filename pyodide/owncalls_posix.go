package pyodide

import (
	"context"
	"errors"
	"math"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
)

// The calls behind guest/posix.py and the modules resource and time.

// maxPaths bounds two paths of 4 KiB, escaped in JSON.
const maxPaths = 64 << 10

// guestPath returns the bytes of a path, which come as one character each.
func guestPath(s string) (string, error) {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if r > math.MaxUint8 {
			return "", errors.New("a path is bytes")
		}
		b = append(b, byte(r))
	}
	return string(b), nil
}

type linkArgument struct {
	OldDir int32  `json:"old_dir"`
	Old    string `json:"old"`
	NewDir int32  `json:"new_dir"`
	New    string `json:"new"`
	Flags  uint32 `json:"flags"`
}

// callLink returns an errno.
func callLink(_ context.Context, in *instance, a linkArgument, _ []byte) (any, error) {
	from, err := guestPath(a.Old)
	if err != nil {
		return nil, err
	}
	to, err := guestPath(a.New)
	if err != nil {
		return nil, err
	}
	return in.proc.Linkat(a.OldDir, from, a.NewDir, to, a.Flags), nil
}

type flockArgument struct {
	FD                          int32
	Exclusive, Nonblock, Unlock bool
}

// callFlock returns an errno. Only the lock is waited for: the descriptors belong to
// the thread that runs.
func callFlock(ctx context.Context, in *instance, a flockArgument, _ []byte) (e any, _ error) {
	f := in.proc.File(a.FD)
	if f == nil {
		return abi.EBADF, nil
	}
	if a.Unlock {
		f.Unlock()
		return abi.OK, nil
	}
	f.Ref()
	defer f.Close()
	in.proc.Wait(ctx, func(ctx context.Context) { e = f.Lock(ctx, a.Exclusive, a.Nonblock) })
	return e, nil
}

type mknodArgument struct {
	Dir  int32
	Path string
	Mode uint32
}

// callMknod returns an errno.
func callMknod(_ context.Context, in *instance, a mknodArgument, _ []byte) (any, error) {
	path, err := guestPath(a.Path)
	if err != nil {
		return abi.EINVAL, err
	}
	return in.proc.Mknodat(a.Dir, path, a.Mode), nil
}

type timerArgument struct {
	Which           uint32
	Value, Interval float64 // in seconds
}

// callSetitimer returns the seconds that were left, and the interval.
func callSetitimer(_ context.Context, in *instance, a timerArgument, _ []byte) (any, error) {
	left, every := in.proc.Timers.Set(a.Which, seconds(a.Value), seconds(a.Interval))
	return []float64{left.Seconds(), every.Seconds()}, nil
}

func callGetitimer(_ context.Context, in *instance, which uint32, _ []byte) (any, error) {
	left, every := in.proc.Timers.Get(which)
	return []float64{left.Seconds(), every.Seconds()}, nil
}

// seconds converts a time of the guest; a positive one is not 0.
func seconds(n float64) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(max(1, min(n*float64(time.Second), math.MaxInt64/2)))
}

// callPause waits until a signal comes, or that many seconds if there are any.
func callPause(ctx context.Context, _ *instance, most float64, _ []byte) (any, error) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, seconds(most))
		defer cancel()
	}
	<-ctx.Done()
	return nil, nil
}

// callInterrupt ends what the main thread waits for, so that it looks for signals.
func callInterrupt(_ context.Context, in *instance, _ any, _ []byte) (any, error) {
	in.proc.Interrupt()
	return nil, nil
}

// callUsage returns what the run has used and may use.
func callUsage(_ context.Context, in *instance, _ any, _ []byte) (any, error) {
	return map[string]any{
		"cpu":    in.proc.ProcessorTime().Seconds(),
		"memory": in.memory.Committed(),
		"limit":  in.memory.Limit(),
	}, nil
}

// callTzset sets the time zone, as TZ names it: the
// host's own for nil, and UTC for an unknown name, as in the C library.
func callTzset(_ context.Context, in *instance, name *string, _ []byte) (any, error) {
	location := in.location
	if name != nil {
		location = clock.Zone(*name)
	}
	in.proc.SetLocation(location)
	return nil, nil
}
