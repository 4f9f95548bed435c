package engine

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/preview1"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/linmem"
	"coderunner/pyodide/rewrite"
)

// Instance is a module that runs as a process.
type Instance struct {
	*preview1.Process
	Mem hostfn.Mem

	// State is what the module's own imports keep.
	State any

	k      *kernel.Process
	code   *Code
	image  *image   // that it was made of; nil: none
	dirs   []string // that were open from the start
	mod    api.Module
	memory *linmem.Memory
	ctx    context.Context
	stop   func() bool
	called api.Function  // last
	debug  func() []byte // see Main

	mu   sync.Mutex
	flag api.MutableGlobal // not nil while the module may be interrupted
}

type instanceKey struct{}

// FromContext returns the instance of a call.
func FromContext(ctx context.Context) *Instance { return ctx.Value(instanceKey{}).(*Instance) }

// instantiate makes an instance without the data that is apart from its module.
func instantiate(ctx context.Context, k *kernel.Process, c *Code) (_ *Instance, err error) {
	in := &Instance{k: k, code: c}
	defer func() {
		if err != nil {
			in.Close()
		}
	}()
	if in.Process, err = preview1.New(k); err != nil {
		return nil, err
	}
	in.dirs = in.Dirs()
	if least, room := leastMemory(c.compiled), k.FS().Room(); room < least {
		return nil, fmt.Errorf("it starts with %d MiB of memory, and %d MiB of the limit are left: %w", least>>20, room>>20, abi.ENOMEM)
	}
	reused := in.reuse()
	if !reused {
		if in.memory, err = linmem.New(4 << 30); err != nil {
			return nil, err
		}
	}
	in.memory.Share(func(bytes int64) bool {
		if bytes < 0 {
			k.FS().Unreserve(-bytes)
			return true
		}
		return k.FS().Reserve(bytes)
	})
	in.ctx = context.WithValue(in.Process.Context(ctx), instanceKey{}, in)
	if !reused {
		made := experimental.WithMemoryAllocator(in.ctx, in.memory.Allocator())
		in.mod, err = c.loader.Runtime().InstantiateModule(made, c.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if err != nil {
			return nil, err
		}
	}
	in.Mem = hostfn.NewMem(in.mod.Memory())
	in.Attach(in.Mem)
	in.flag, _ = in.mod.ExportedGlobal(rewrite.InterruptGlobal).(api.MutableGlobal)
	in.stop = context.AfterFunc(ctx, in.interrupt)
	k.Measure(func() kernel.Usage { return kernel.Usage{Memory: int64(in.memory.Committed()), CPU: in.Busy()} })
	return in, nil
}

// leastMemory returns the bytes that a module begins with.
func leastMemory(c wazero.CompiledModule) (bytes int64) {
	for _, m := range c.ExportedMemories() {
		bytes = max(bytes, int64(m.Min())*linmem.PageSize)
	}
	return max(bytes, linmem.PageSize)
}

// interrupt makes the next loop of the module trap.
func (in *Instance) interrupt() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.flag != nil {
		in.flag.Set(1)
	}
}

// Has reports whether the module has a function.
func (in *Instance) Has(name string) bool { return in.mod.ExportedFunction(name) != nil }

// Call calls a function of the module and returns its first result, 0 if it has none.
func (in *Instance) Call(name string, args ...uint64) (uint64, error) {
	f := in.mod.ExportedFunction(name)
	if in.called = f; f == nil {
		return 0, fmt.Errorf("the module has no function %s", name)
	}
	if in.ctx.Err() != nil {
		return 0, context.Cause(in.ctx)
	}
	results, err := f.Call(in.ctx, args...)
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return results[0], nil
}

// ended is the panic of Stop.
type ended struct{ err error }

func (e ended) Error() string { return e.err.Error() }
func (e ended) Unwrap() error { return e.err }

// Stop ends what Guard calls, or the module if it is in a function of the host, with an error.
func Stop(err error) { panic(ended{err}) }

// Guard calls f, which calls functions of a module by Must, and returns the error that ended it.
func Guard(f func()) (err error) {
	defer func() {
		end := recover()
		if e, ok := end.(ended); ok {
			err = e.err
		} else if end != nil {
			panic(end)
		}
	}()
	f()
	return nil
}

// Catch is Guard for functions of C that would leave by longjmp and trap instead: the module's
// globals, of which one is the top of C's stack, are then what they were.
func (in *Instance) Catch(f func()) error {
	before := in.globals()
	err := Guard(f)
	if err != nil {
		in.setGlobals(before)
	}
	return err
}

// Must is Call, but ends with Stop what fails. Of the arguments, texts are in the module's
// memory while the function runs, with a NUL behind them; others are numbers.
func (in *Instance) Must(name string, args ...any) uint32 {
	var numbers, texts []uint64
	for _, a := range args {
		var n uint64
		switch a := a.(type) {
		case string:
			n = uint64(in.Put(a + "\x00"))
			texts = append(texts, n)
		case int:
			n = uint64(a)
		case uint32:
			n = uint64(a)
		}
		numbers = append(numbers, n)
	}
	result, err := in.Call(name, numbers...)
	for _, at := range texts {
		if err == nil && in.Has("free") {
			_, err = in.Call("free", at)
		}
	}
	if err != nil {
		Stop(err)
	}
	return uint32(result)
}

// Put puts a text into memory that the module allocates for it: by the C library's function,
// or that of interface types.
func (in *Instance) Put(text string) (at uint32) {
	n := max(1, len(text))
	if in.Has("malloc") {
		at = in.Must("malloc", n)
	} else {
		at = in.Must("cabi_realloc", 0, 0, 4, n)
	}
	if at == 0 || !in.Mem.Put(at, []byte(text)) {
		Stop(&Unsupported{"the interpreter has no memory left"})
	}
	return at
}

// Word returns the number at an address, Text the n bytes.
func (in *Instance) Word(at uint32) uint32 {
	n, ok := in.Mem.Uint32(at)
	if !ok {
		Stop(errOutside)
	}
	return n
}

func (in *Instance) Text(at, n uint32) string {
	b, ok := in.Mem.Bytes(at, n)
	if !ok {
		Stop(errOutside)
	}
	return string(b)
}

var errOutside = &Unsupported{"the interpreter has returned an address that is not in its memory"}

// Refused reports whether the module wanted more memory than its limit, and has not been
// content with less.
func (in *Instance) Refused() bool { return in.memory != nil && in.memory.Refused() }

// Close frees the instance. Nothing of it may run.
func (in *Instance) Close() {
	if in.stop != nil {
		in.stop()
	}
	in.mu.Lock()
	in.flag = nil
	in.mu.Unlock()
	if in.Process != nil {
		in.k.Measure(nil)
		in.k.AddCPU(in.Busy())
		in.Process.Close()
	}
	if in.memory != nil {
		in.k.FS().Unreserve(int64(in.memory.Committed()))
		if !in.keep() {
			in.free()
		}
	}
	runtime.KeepAlive(in.code) // a program's is freed with it
}
