package memfs

import (
	"context"
	"crypto/rand"
	"strconv"

	"coderunner/internal/machine/abi"
)

// rdev returns a device number as Linux has it, so that os.stat shows the usual
// ones.
func rdev(major, minor uint32) uint32 { return major<<8 | minor }

// MakeDevices fills /dev, which it makes if need be. Opening /dev/stdin, /dev/stdout
// and /dev/stderr is like dup of the opener's descriptor: see [WithFiles].
func (fsys *FS) MakeDevices() error {
	if err := fsys.MkdirAll("/dev/shm", 0o755); err != nil {
		return err
	}
	if err := fsys.ShareFiles("/dev/shm"); err != nil {
		return err
	}
	always := func(s Stream) func(context.Context, uint32) (Stream, abi.Errno) {
		return func(context.Context, uint32) (Stream, abi.Errno) { return s, abi.OK }
	}
	zeros := endless{fill: func(b []byte) { clear(b) }}
	for _, d := range []struct {
		name string
		rdev uint32
		open func(context.Context, uint32) (Stream, abi.Errno)
	}{
		{"null", rdev(1, 3), always(sink{})},
		{"zero", rdev(1, 5), always(zeros)},
		{"full", rdev(1, 7), always(full{zeros})},
		{"random", rdev(1, 8), always(endless{fill: randomBytes})},
		{"urandom", rdev(1, 9), always(endless{fill: randomBytes})},
		{"tty", rdev(5, 0), noTerminal},
		{"stdin", rdev(5, 0), alias(0)},
		{"stdout", rdev(5, 0), alias(1)},
		{"stderr", rdev(5, 0), alias(2)},
	} {
		if err := fsys.Device("/dev/"+d.name, 0o666, d.rdev, d.open); err != nil {
			return err
		}
	}
	return nil
}

type filesKey struct{}

// WithFiles returns a context for Open that knows the opener's descriptors: file
// returns the file of one, or nil.
func WithFiles(ctx context.Context, file func(fd int) *File) context.Context {
	return context.WithValue(ctx, filesKey{}, file)
}

// alias returns the open function of a device that stands for a descriptor of
// whoever opens it.
func alias(fd int) func(context.Context, uint32) (Stream, abi.Errno) {
	return func(ctx context.Context, _ uint32) (Stream, abi.Errno) {
		files, _ := ctx.Value(filesKey{}).(func(int) *File)
		if files == nil {
			return nil, abi.ENXIO
		}
		if f := files(fd); f != nil && f.refOpen() {
			return aliased{f}, abi.OK
		}
		return nil, abi.ENOENT
	}
}

// aliased is a reference to an open file, as a stream.
type aliased struct{ f *File }

func (a aliased) Read(ctx context.Context, b []byte, _ bool) (int, abi.Errno) {
	return a.f.Read(ctx, b)
}
func (a aliased) Write(ctx context.Context, b []byte, _ bool) (int, abi.Errno) {
	return a.f.Write(ctx, b)
}
func (a aliased) Close() abi.Errno                              { return a.f.Close() }
func (a aliased) Ready() abi.Events                             { return a.f.Ready() }
func (a aliased) Watch(ch chan<- struct{}) (stop func())        { return a.f.Watch(ch) }
func (a aliased) SeekTo(n int64, whence int) (int64, abi.Errno) { return a.f.SeekTo(n, whence) }

// noTerminal opens /dev/tty, as Linux does for a process that has none.
func noTerminal(context.Context, uint32) (Stream, abi.Errno) { return nil, abi.ENXIO }

// full is /dev/full.
type full struct{ endless }

func (full) Write(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.ENOSPC }

// start is where the devices without an end always are.
type start struct{}

func (start) SeekTo(_ int64, whence int) (int64, abi.Errno) {
	if whence < abi.SEEK_SET || whence > abi.SEEK_END {
		return 0, abi.EINVAL
	}
	return 0, abi.OK
}

// sink is /dev/null.
type sink struct{ start }

func (sink) Read(context.Context, []byte, bool) (int, abi.Errno)        { return 0, abi.OK }
func (sink) Write(_ context.Context, b []byte, _ bool) (int, abi.Errno) { return len(b), abi.OK }
func (sink) Close() abi.Errno                                           { return abi.OK }

// endless is a device that never ends. What is written to it is dropped.
type endless struct {
	fill func([]byte)
	start
}

func (s endless) Read(_ context.Context, b []byte, _ bool) (int, abi.Errno) {
	b = b[:min(len(b), 1<<20)]
	s.fill(b)
	return len(b), abi.OK
}
func (endless) Write(_ context.Context, b []byte, _ bool) (int, abi.Errno) { return len(b), abi.OK }
func (endless) Close() abi.Errno                                           { return abi.OK }

func randomBytes(b []byte) { rand.Read(b) } // it never fails

// DescriptorDevice makes /dev/fd/N, if it is not there: opening it is like dup of
// the opener's descriptor N, see [WithFiles].
func (fsys *FS) DescriptorDevice(fd int) error {
	path := "/dev/fd/" + strconv.Itoa(fd)
	if _, e := fsys.Lookup(nil, path, true); e == abi.OK {
		return nil
	}
	if err := fsys.MkdirAll("/dev/fd", 0o755); err != nil {
		return err
	}
	return fsys.Device(path, 0o666, rdev(5, 0), alias(fd))
}
