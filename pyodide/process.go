package pyodide

import (
	"context"
	"time"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/memfs"
)

// makeFiles makes the file system and the process around it, whose monotonic
// clock shows the given time.
func (in *Interp) makeFiles(o Options, clock time.Duration) (err error) {
	in.fs = memfs.New(memfs.Options{MaxBytes: o.memory(), Beside: func() int64 { return int64(in.memory.Committed()) }})
	in.memory.Share(func() uint64 { return uint64(in.fs.Held()) })
	for _, dir := range []string{Home, "/tmp", "/lib", "/dev", SitePackages} {
		if err := in.fs.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, dir := range []string{Home, "/lib", "/lib/python3.14", SitePackages, "/dev"} {
		if err := in.fs.Private(dir); err != nil {
			return err
		}
	}
	if err := in.fs.Scratch("/tmp"); err != nil {
		return err
	}
	if err := in.fs.MountFile("/lib/"+stdlibName, in.compiled.stdlib); err != nil {
		return err
	}
	location := o.Location
	if location == nil {
		location = time.Local
	}
	in.proc, err = emscripten.New(emscripten.Config{
		FS: in.fs, Cwd: Home,
		Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr,
		Env: bootEnv, Location: location, Monotonic: clock, // the cap on memory is the allocator's
		Sockets: o.Sockets, Outside: o.Network,
		Guest: in.callbacks(),
	})
	if err != nil {
		return err
	}
	in.proc.SetMemory(in.mod.Memory())
	in.signals.proc = in.proc
	in.env, in.calls, in.location = o.Env, o.Calls, location
	if err := in.fs.Device(tlsDevice, 0o600, 0, openTLSDevice(in.instance, o)); err != nil {
		return err
	}
	return in.fs.Device(hostDevice, 0o600, 0, in.device())
}

// device returns the open function of hostDevice.
func (in *Interp) device() func(context.Context, uint32) (memfs.Stream, abi.Errno) {
	return openHostDevice(in.instance, func(name string) (Call, bool) {
		c, ok := in.calls[name]
		return c, ok
	})
}

// bootEnv is what CPython reads while it starts; a program does not see it.
// Output is not buffered, so that what was printed before a limit struck is
// there; lone surrogates are written as they are.
var bootEnv = []string{
	"HOME=" + Home,
	"LANG=C.UTF-8",
	"PYTHONUNBUFFERED=1",
	"PYTHONIOENCODING=utf-8:surrogatepass",
	"PYTHONSAFEPATH=1",
}

// callbacks returns the functions by which host functions call the guest, on its
// goroutine, while it waits for the host.
func (in *Interp) callbacks() emscripten.Guest {
	signals := in.signals // of this interpreter, not of the instance's next
	g := emscripten.Guest{
		Malloc: func(ctx context.Context, size uint32) uint32 {
			return in.callback(ctx, "emscripten_builtin_malloc", size)
		},
		Free: func(ctx context.Context, addr uint32) {
			in.callback(ctx, "emscripten_builtin_free", addr)
		},
		Memalign: func(ctx context.Context, align, size uint32) uint32 {
			return in.callback(ctx, "emscripten_builtin_memalign", align, size)
		},
		SetErrno: func(ctx context.Context, errno int32) {
			if p := in.callback(ctx, "__errno_location"); p != 0 {
				in.mod.Memory().WriteUint32Le(p, uint32(errno))
			}
		},
		Raise: in.raise,
		// C installs no handler but CPython's own, which does only this.
		CallHandler: func(ctx context.Context, _ uint32, signal int32) {
			in.callback(ctx, "PyErr_SetInterruptEx", uint32(signal))
		},
		Alarm:   func(which uint32) { signals.alarm(timerSignals[which]) },
		DlError: in.dlError,
		Threads: threadCalls{in.instance},
	}
	in.linking.linkCallbacks(&g)
	in.linking.ffiCallbacks(&g)
	return g
}

// stdlibName is the archive's name in /lib, fixed in CPython.
const stdlibName = "python314.zip"
