package pyodide

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"coderunner/internal/machine/abi"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/linmem"
	"coderunner/pyodide/rewrite"
)

// boot starts CPython in a new instance, in upstream's order, until programs can
// run.
func (in *instance) boot(ctx context.Context) error {
	g := in.guest(ctx)
	if err := in.compiled.module.writeData(in.mod.Memory()); err != nil {
		return err
	}
	if _, err := g.call("__wasm_call_ctors"); err != nil {
		return err
	}
	if err := in.writeErrorTexts(g); err != nil {
		return err
	}
	if err := in.startSignals(); err != nil {
		return err
	}
	if err := in.installTrampoline(g); err != nil {
		return err
	}
	if err := in.limitStack(); err != nil {
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

// limitStack ends the main thread's stack where its native stack may still grow:
// CPython, which begins after this, raises RecursionError at the end of its own.
func (in *instance) limitStack() error {
	at := in.compiled.module.info.Threads
	base, err := in.global(at.Base)
	if err != nil {
		return err
	}
	end, err := in.global(at.End)
	if err != nil {
		return err
	}
	if top := uint32(base.Get()); top > maxStack {
		end.Set(max(end.Get(), uint64(top-maxStack)))
	}
	return nil
}

// guestModules are loaded at boot, in this order.
var guestModules = []struct{ name, file string }{
	{"_coderunner_errnos", "guest/errnos.py"},
	{"_coderunner_adapt", "guest/adapt.py"},
	{"_coderunner_pip", "guest/pip.py"},
	{"_coderunner_notebook", "guest/notebook.py"},
	{"_coderunner_tests", "guest/tests.py"},
	{"_coderunner_literals", "guest/literals.py"},
	{"_coderunner_imports", "guest/imports.py"},
	{"_coderunner_analyze", "guest/analyze.py"},
	{"_coderunner_changed", "guest/changed.py"},
	{"_coderunner_display", "guest/display.py"},
	{"_coderunner_magics", "guest/magics.py"},
	{"_coderunner_ipython", "guest/ipython.py"},
	{"_coderunner_extras", "guest/extras.py"},
	{"_coderunner_program", "guest/program.py"},
	{"_coderunner_report", "guest/report.py"},
	{"_coderunner_renew", "guest/renew.py"},
	{"_coderunner", "guest/coderunner.py"},
	{"_coderunner_posix", "guest/posix.py"},
	{"_coderunner_signals", "guest/signals.py"},
	{"_coderunner_process", "guest/process.py"},
	{"_coderunner_command", "guest/command.py"},
	{"_coderunner_preload", "guest/preload.py"},
}

// errnoNumbers returns the line of Python that guest/errnos.py begins with.
func errnoNumbers() []byte {
	line := []byte("NUMBERS = {")
	for _, pair := range abi.LinuxNumbers() {
		line = fmt.Appendf(line, "%d: %d, ", pair[0], pair[1])
	}
	return append(line, "}\n"...)
}

// bootGuest loads the Python half and finds its entry points.
func (in *instance) bootGuest(g guest) error {
	for _, m := range guestModules {
		source, err := guestFiles.ReadFile(m.file)
		if err != nil {
			return err
		}
		if m.name == "_coderunner_errnos" {
			source = append(errnoNumbers(), source...)
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
		case "_coderunner_command":
			in.functions.Exec, err = g.attr(object, "execute")
		case "_coderunner_preload":
			in.functions.Preload, err = g.attr(object, "preload")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// installTrampoline tells CPython to call C functions through the trampoline
// that rewrite put into the module. CPython calls functions with more arguments
// than they take, which wasm refuses; the trampoline looks the arity up in a
// table with a byte for each table slot.
//
// Upstream's own trampoline needs wasm GC (ref.test); see CPython's
// Python/emscripten_trampoline.c.
func (in *instance) installTrampoline(g guest) error {
	functions, err := in.compiled.module.functions()
	if err != nil {
		return err
	}
	arity := functions.Arity()
	table, err := g.alloc(arity)
	if err != nil {
		return err
	}
	if err := in.setGlobal(rewrite.ArityTable, table); err != nil {
		return err
	}
	if err := in.setGlobal(rewrite.ArityLen, uint32(len(arity))); err != nil {
		return err
	}
	offset, err := in.compiled.symbol("_PyEM_EMSCRIPTEN_TRAMPOLINE_OFFSET")
	if err != nil {
		return err
	}
	runtime, err := in.compiled.symbol("_PyRuntime")
	if err != nil {
		return err
	}
	at, ok := in.mod.Memory().ReadUint32Le(offset)
	if !ok {
		return errOutOfRange
	}
	return g.store(runtime+at, in.compiled.module.info.Trampoline)
}

// instantiate makes an instance whose guest has not run yet.
func (r *compiled) instantiate(ctx context.Context, memory int64) (in *instance, err error) {
	if least := int64(r.main.ExportedMemories()["memory"].Min()) * linmem.PageSize; memory < least {
		return nil, fmt.Errorf("the memory limit of %d bytes is less than what CPython starts with (%d)", memory, least)
	}
	in = &instance{compiled: r, exports: map[string]api.Function{}, deadline: never(), signals: &signals{}}
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
