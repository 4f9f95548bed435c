package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/linmem"
	"coderunner/pyodide/rewrite"
	"coderunner/runners/wasi/preview1"
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

	mu   sync.Mutex
	flag api.MutableGlobal // not nil while the module may be interrupted
}

type instanceKey struct{}

// FromContext returns the instance of a call.
func FromContext(ctx context.Context) *Instance { return ctx.Value(instanceKey{}).(*Instance) }

// maxMemory is what 32 bits can address.
const maxMemory = 4 << 30

// Start makes an instance of a module, without calling any of its functions. When ctx ends,
// the module traps. The caller closes the instance.
func Start(ctx context.Context, k *kernel.Process, c *Code) (*Instance, error) {
	in, _, err := Begin(ctx, k, c, nil)
	return in, err
}

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
	limit := uint64(min(k.FS().Room(), maxMemory))
	if least := leastMemory(c.compiled); limit < least {
		return nil, fmt.Errorf("it starts with %d MiB of memory, and %d MiB of the limit are left: %w", least>>20, limit>>20, abi.ENOMEM)
	}
	if in.memory, err = linmem.New(limit); err != nil {
		return nil, err
	}
	in.memory.Share(func(bytes int64) bool {
		if bytes < 0 {
			k.FS().Unreserve(-bytes)
			return true
		}
		return k.FS().Reserve(bytes)
	})
	in.ctx = context.WithValue(in.Process.Context(ctx), instanceKey{}, in)
	made := experimental.WithMemoryAllocator(in.ctx, in.memory.Allocator())
	in.mod, err = c.loader.Runtime().InstantiateModule(made, c.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	in.Mem = hostfn.NewMem(in.mod.Memory())
	in.Attach(in.Mem)
	in.flag, _ = in.mod.ExportedGlobal(rewrite.InterruptGlobal).(api.MutableGlobal)
	in.stop = context.AfterFunc(ctx, in.interrupt)
	k.Measure(func() kernel.Usage { return kernel.Usage{Memory: int64(in.memory.Committed()), CPU: in.Busy()} })
	return in, nil
}

// leastMemory returns the bytes that a module begins with.
func leastMemory(c wazero.CompiledModule) (bytes uint64) {
	for _, m := range c.ExportedMemories() {
		bytes = max(bytes, uint64(m.Min())*linmem.PageSize)
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
	if f == nil {
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
	if in.mod != nil {
		_ = in.mod.Close(context.Background()) // it never fails
	}
	if in.memory != nil {
		in.k.FS().Unreserve(int64(in.memory.Committed()))
		_ = in.memory.Unmap() // there is nothing to do about it
	}
}

// ErrDead is the error of a module that trapped where nothing else says why.
var ErrDead = errors.New("the module ended")
