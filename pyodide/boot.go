package pyodide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/memfs"
)

// New makes a fresh interpreter. The caller closes it.
func (r *Runtime) New(ctx context.Context, o Options) (in *Interp, err error) {
	switch from := cmp.Or(o.From, r.base); from {
	case nil:
		in, err = r.boot(ctx, o)
	default:
		in, err = r.fromSnapshot(ctx, from, o, r.lease)
	}
	if err != nil {
		return nil, fmt.Errorf("make an interpreter: %w", err)
	}
	return in, nil
}

// boot makes an interpreter by booting CPython.
func (r *Runtime) boot(ctx context.Context, o Options) (*Interp, error) {
	instance, err := r.instantiate(ctx, o.memory())
	if err != nil {
		return nil, err
	}
	in := &Interp{instance: instance}
	if err := in.makeFiles(o, 0); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := in.boot(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("boot CPython: %w", err), in.Close())
	}
	return in, nil
}

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
	if err := in.fs.MountInto("/lib", oneFile{name: stdlibName, data: in.rt.stdlib}); err != nil {
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
		Guest: in.callbacks(),
	})
	if err != nil {
		return err
	}
	in.proc.SetMemory(in.mod.Memory())
	in.signals.proc = in.proc
	in.env, in.calls = o.Env, o.Calls
	return in.fs.Device(hostDevice, 0o600, 0, in.openHostDevice)
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

// boot brings a new instance up to where programs can run, in upstream's
// order.
func (in *instance) boot(ctx context.Context) error {
	g := in.guest(ctx)
	if err := in.rt.module.writeData(in.mod.Memory()); err != nil {
		return err
	}
	if _, err := g.call("__wasm_call_ctors"); err != nil {
		return err
	}
	if err := in.startSignals(); err != nil {
		return err
	}
	if err := in.installTrampoline(g); err != nil {
		return err
	}
	arg, err := g.cstring("python")
	if err != nil {
		return err
	}
	argv, err := g.alloc(make([]byte, 8)) // {arg, NULL}
	if err != nil {
		return err
	}
	if err := g.store(argv, arg, 0); err != nil {
		return err
	}
	if code, err := g.call("__main_argc_argv", 1, argv); err != nil || code != 0 {
		return errors.Join(fmt.Errorf("main returned %d", int32(code)), err)
	}
	in.initialized = true
	return in.bootGuest(g)
}

// guestModules are loaded at boot, in this order.
var guestModules = []struct{ name, file string }{
	{"_coderunner_adapt", "guest/adapt.py"},
	{"_coderunner_analyze", "guest/analyze.py"},
	{"_coderunner", "guest/coderunner.py"},
	{"_coderunner_preload", "guest/preload.py"},
}

// bootGuest loads the Python half and finds its entry points.
func (in *instance) bootGuest(g guest) error {
	for _, m := range guestModules {
		source, err := guestFiles.ReadFile(m.file)
		if err != nil {
			return err
		}
		object, err := g.module(m.name, string(source))
		if err != nil {
			return err
		}
		switch m.name {
		case "_coderunner":
			if in.functions.Run, err = g.attr(object, "run"); err == nil {
				in.functions.Analyze, err = g.attr(object, "analyze")
			}
		case "_coderunner_preload":
			in.functions.Preload, err = g.attr(object, "preload")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
