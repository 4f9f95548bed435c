package pyodide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/linmem"
	"coderunner/pyodide/memfs"
)

// New makes a fresh interpreter. The caller closes it.
func (r *Runtime) New(ctx context.Context, o Options) (*Interp, error) {
	var in *Interp
	var err error
	switch {
	case o.From != nil:
		in, err = r.thaw(ctx, o.From, o, r.ahead.take)
	case r.base != nil:
		in, err = r.thaw(ctx, r.base, o, r.ahead.take)
	default:
		in, err = r.cold(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("make an interpreter: %w", err)
	}
	return in, nil
}

// cold makes an interpreter by booting CPython.
func (r *Runtime) cold(ctx context.Context, o Options) (in *Interp, err error) {
	if in, err = r.instantiate(ctx, o.memory()); err != nil {
		return nil, err
	}
	if err := in.makeFiles(o, 0); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := in.boot(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("boot CPython: %w", err), in.Close())
	}
	return in, nil
}

// instantiate makes an interpreter whose guest has not run yet and that has no
// files.
func (r *Runtime) instantiate(ctx context.Context, memory int64) (in *Interp, err error) {
	if least := int64(r.main.ExportedMemories()["memory"].Min()) * linmem.PageSize; memory < least {
		return nil, fmt.Errorf("the memory limit of %d bytes is less than what CPython starts with (%d)", memory, least)
	}
	in = &Interp{rt: r, idle: map[string]api.Function{}, deadline: startDeadline(0, 0, 0, nil, nil)}
	in.linking = &linking{in: in}
	if in.memory, err = linmem.New(uint64(min(memory, 4<<30))); err != nil {
		return nil, err
	}
	ctx = experimental.WithMemoryAllocator(in.context(ctx), in.memory.Allocator())
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	if in.mod, err = r.wz.InstantiateModule(ctx, r.main, config); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	in.mem = hostfn.NewMem(in.mod.Memory())
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
func (in *Interp) boot(ctx context.Context) error {
	g := in.guest(ctx)
	if err := in.rt.module.writeData(in.mod.Memory()); err != nil {
		return err
	}
	if _, err := g.call("__wasm_call_ctors"); err != nil {
		return err
	}
	if err := in.findSignals(); err != nil {
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
func (in *Interp) bootGuest(g guest) error {
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
