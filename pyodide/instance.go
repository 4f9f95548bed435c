package pyodide

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/linmem"
	"coderunner/pyodide/memfs"
)

// instance is the WebAssembly half of an interpreter: module, memory, globals
// and tables. It may serve several interpreters, one after the other, see
// [instance.reset]; between them it waits in the runtime's pool.
type instance struct {
	rt          *Runtime
	key         poolKey // zero if not from the pool
	mod         api.Module
	memory      *linmem.Memory
	mem         hostfn.Mem
	functions   functions
	exports     map[string]api.Function // idle ones that were called before, see guest
	initialized bool                    // CPython has started
	dead        bool                    // no export may be called any more
	written     []linmem.Range          // see detach
	linking     *linking                // of shared libraries and functions of C

	// Of the interpreter that has it now.
	signals  *signals
	deadline *deadline // of the run in progress; set before the guest runs
	proc     *emscripten.Process
	fs       *memfs.FS
}

// functions are the function objects of the guest's half that the host calls.
type functions struct {
	Run     uint32 `json:"run"`
	Analyze uint32 `json:"analyze"`
	Preload uint32 `json:"preload"`
}

// never is a deadline that does not strike.
func never() *deadline { return startDeadline(0, 0, 0, nil, nil) }

// instantiate makes an instance whose guest has not run yet.
func (r *Runtime) instantiate(ctx context.Context, memory int64) (in *instance, err error) {
	if least := int64(r.main.ExportedMemories()["memory"].Min()) * linmem.PageSize; memory < least {
		return nil, fmt.Errorf("the memory limit of %d bytes is less than what CPython starts with (%d)", memory, least)
	}
	in = &instance{rt: r, exports: map[string]api.Function{}, deadline: never(), signals: &signals{}}
	in.linking = &linking{instance: in}
	if in.memory, err = linmem.New(uint64(min(memory, 4<<30))); err != nil {
		return nil, err
	}
	ctx = experimental.WithMemoryAllocator(in.context(ctx), in.memory.Allocator())
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	if in.mod, err = r.wz.InstantiateModule(ctx, r.main, config); err != nil {
		return nil, errors.Join(err, in.close())
	}
	in.mem = hostfn.NewMem(in.mod.Memory())
	return in, nil
}

// guest returns the module's exports, with the host functions bound to ctx and
// this instance.
func (in *instance) guest(ctx context.Context) guest {
	return guest{in: in, ctx: in.context(ctx)}
}

// close frees the instance and its memory. Nothing may run in it.
func (in *instance) close() error {
	in.dead = true
	var errs []error
	if in.mod != nil {
		errs = append(errs, in.mod.Close(context.Background()))
	}
	errs = append(errs, in.linking.closeLinker())
	// No function of the module can be called from here on.
	errs = append(errs, in.memory.Unmap())
	return errors.Join(errs...)
}

// global returns a mutable global of the module.
func (in *instance) global(name string) (api.MutableGlobal, error) {
	g, ok := in.mod.ExportedGlobal(name).(api.MutableGlobal)
	if !ok {
		return nil, fmt.Errorf("the module has no mutable global %s", name)
	}
	return g, nil
}

func (in *instance) setGlobal(name string, v uint32) error {
	g, err := in.global(name)
	if err != nil {
		return err
	}
	g.Set(uint64(v))
	return nil
}
