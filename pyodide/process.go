package pyodide

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/emscripten"
)

// makeFiles makes the file system and the process around it, whose monotonic
// clock shows the given time.
func (in *Interp) makeFiles(o Options, clock time.Duration) (err error) {
	if in.fs = o.FS; in.fs == nil {
		if in.fs, err = NewFS(o.Memory); err != nil {
			return err
		}
		if err := in.compiled.MountLibrary(in.fs); err != nil {
			return err
		}
	}
	if err := in.charge(o.Charged); err != nil {
		return err
	}
	location := o.Location
	if location == nil {
		location = time.Local
	}
	in.proc, err = emscripten.New(emscripten.Config{
		FS: in.fs, Cwd: cmp.Or(o.Dir, Home), Umask: o.Umask, Files: o.Files,
		Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr,
		Env: bootEnv, Location: location, Monotonic: clock, // the cap on memory is the allocator's
		Sockets: o.Sockets, Outside: o.Network, Refused: o.Refused,
		Guest: in.callbacks(),
	})
	if err != nil {
		return err
	}
	if o.Process != nil {
		in.proc.GoBy(o.Process.Booted(in.proc.Booted()))
	}
	in.proc.SetMemory(in.mod.Memory())
	in.signals.proc = in.proc
	in.env, in.calls, in.location, in.process = o.Env, o.Calls, location, o.Process
	in.tls = openTLSDevice(in.instance, o)
	if in.process != nil {
		in.process.Handle(in.signals.receive)
	}
	return nil
}

// charge charges the memory to the file system's budget, which all processes of a
// program share and which has so many bytes of it already.
func (in *Interp) charge(charged int64) error {
	fsys, held := in.fs, int64(in.memory.Committed())
	take := func(bytes int64) bool {
		if bytes < 0 {
			fsys.Unreserve(-bytes)
			return true
		}
		return fsys.Reserve(bytes)
	}
	if !take(held - charged) {
		fsys.Unreserve(charged)
		return fmt.Errorf("an interpreter needs %d MiB of the program's memory: %w", held>>20, abi.ENOMEM)
	}
	in.charged = true
	in.memory.Share(take)
	return nil
}

// NewFS returns a file system for interpreters and other processes of one program,
// which share its memory limit of so many bytes; 0: 512 MiB. Interpreters need
// [Runtime.MountLibrary] first.
func NewFS(memory int64) (*memfs.FS, error) {
	fsys := memfs.New(memfs.Options{MaxBytes: Options{Memory: memory}.memory(), NamesCount: true})
	for _, dir := range []string{Home, "/tmp", "/lib", "/dev", SitePackages} {
		if err := fsys.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{Home, "/lib", "/lib/python3.14", SitePackages, "/dev"} {
		if err := fsys.Private(dir); err != nil {
			return nil, err
		}
	}
	if err := fsys.Scratch("/tmp"); err != nil {
		return nil, err
	}
	if err := fsys.MakeDevices(); err != nil {
		return nil, err
	}
	for _, name := range []string{hostDevice, tlsDevice} {
		if err := fsys.Device(name, 0o600, 0, emscripten.OpenHost(name)); err != nil {
			return nil, err
		}
	}
	return fsys, nil
}

// MountLibrary shows Python's library on a file system of [NewFS].
func (r *compiled) MountLibrary(fsys *memfs.FS) error {
	return fsys.MountFile("/lib/"+stdlibName, r.stdlib)
}

// device opens hostDevice for the interpreter's program.
func (in *Interp) device() (memfs.Stream, abi.Errno) {
	return &hostCall{in: in}, abi.OK
}

// bootEnv is what CPython reads while it starts; a program does not see it.
// Output is not buffered, so that what was printed before a limit struck is
// there.
var bootEnv = []string{
	"HOME=" + Home,
	"LANG=C.UTF-8",
	"PYTHONUNBUFFERED=1",
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
		MapShared: in.mapShared, UnmapShared: in.unmapShared,
		OpenHost: func(ctx context.Context, name string, flags uint32) (memfs.Stream, abi.Errno) {
			if name == tlsDevice {
				return in.tls(ctx, flags)
			}
			return in.device()
		},
		Park:    in.park,
		Alarm:   func(which uint32) { signals.alarm(timerSignals[which]) },
		DlError: in.dlError,
		Threads: threadCalls{in.instance},
		Rest:    in.cpu.rest,
	}
	in.linking.linkCallbacks(&g)
	in.linking.ffiCallbacks(&g)
	return g
}

// stdlibName is the archive's name in /lib, fixed in CPython.
const stdlibName = "python314.zip"
