package pyodide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/libffi"
	"coderunner/pyodide/linmem"
	"coderunner/pyodide/rewrite"
)

// instance is the WebAssembly half of an interpreter: module, memory, globals
// and tables. It may serve several interpreters, one after the other, see
// [instance.reset]; between them it waits in the runtime's pool.
type instance struct {
	compiled    *compiled
	key         poolKey // zero if not from the pool
	mod         api.Module
	memory      *linmem.Memory
	mem         hostfn.Mem
	functions   functions
	exports     map[string]api.Function // idle ones that were called before, see guest
	pending     api.Global              // the tag of an exception that unwinds the guest, 0: none; nil until it is asked for
	initialized bool                    // CPython has started
	dead        bool                    // no export may be called any more
	written     []linmem.Range          // see detach
	linking     *linking                // of shared libraries and functions of C
	foreign     bool                    // pages are mapped of other files than the snapshot's, which Written does not tell
	remapped    []linmem.Range          // those that were shared memory, and not a layer

	// Of the interpreter that has it now.
	signals  *signals
	deadline *deadline       // of the run in progress; set before the guest runs
	running  context.Context // of the run in progress; nil: none

	interrupted place          // of the run in progress
	cpu         stopwatch      // of the run in progress
	threads     *threads       // of the run in progress; nil: one alone
	calls       []api.Function // in progress in the running thread, innermost last
	location    *time.Location // local time
	proc        *emscripten.Process
	fs          *memfs.FS
	process     *kernel.Process                                         // nil: none
	tls         func(context.Context, uint32) (memfs.Stream, abi.Errno) // opens tlsDevice
	charged     bool                                                    // its memory, to the file system

	processors int // that an import asked for; 0: none did
}

// never is a deadline that does not strike.
func never() *deadline { return startDeadline(0, 0, 0, nil, nil) }

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

// linking is the state of dynamic linking of one instance. Its methods are the
// host's half of dylink and libffi, in link*.go, and of opening libraries, in
// library_*.go.
type linking struct {
	*instance
	linker   *dylink.Linker
	ffi      *libffi.FFI
	used     []*sharedLibrary
	own      []*dylink.Library // compiled for it alone
	ownBytes int64
	ownTypes int
	depth    int   // of nested calls guest to host to guest
	restored int   // the linker's change count after restore
	called   bool  // a function of C, through libffi
	lacked   error // why a library of a mount could not be had
}

// closeLinker releases what dynamic linking holds. The guest must not run.
func (in *linking) closeLinker() error {
	var errs []error
	if in.linker != nil {
		errs = append(errs, in.linker.Close())
	}
	for _, lib := range in.own {
		errs = append(errs, lib.Close(context.Background()))
	}
	errs = append(errs, in.compiled.link.shared.release(in.used...))
	in.instance.linking = &linking{instance: in.instance}
	return errors.Join(errs...)
}

// poolKey identifies interchangeable instances.
type poolKey struct {
	from   *Snapshot
	memory int64
}

// startSignals lets signals reach the guest.
func (in *instance) startSignals() error {
	number, err := in.compiled.symbol("_Py_emscripten_signal_in_memory")
	if err != nil {
		return err
	}
	clock, err := in.compiled.symbol("_Py_emscripten_signal_clock")
	if err != nil {
		return err
	}
	flag, err := in.global(rewrite.InterruptGlobal)
	if err != nil {
		return err
	}
	in.signals.start(in.memory, number, clock, flag)
	return nil
}
