package clang

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// builder is one start of a command.
type builder struct {
	*guest.Call
	name   string
	env    []string        // the process's
	stderr *memfs.File     // of the tools; nil: the process's
	looked map[string]bool // files that the tools have looked for
}

// built is what building has come to.
type built struct {
	engine.End
	said   []byte // on standard error
	made   []byte // nil: nothing, or it is where the tools have written it
	digest string // of made, after remembered
}

// scratch is what the names of the builder's own files begin with.
const scratch = "/tmp/.cc-"

const (
	target    = "wasm32-wasip1"
	libraries = root + "/lib/" + target
	builtins  = root + "/lib/wasm32-unknown-wasip1/libclang_rt.builtins.a"
	stackSize = 8 << 20 // bytes of a program's stack, as Linux has it
)

// build compiles and links.
func (b *builder) build(ctx context.Context, l *line) (r *built, err error) {
	if l.alone != nil {
		return b.compile(ctx, l, l.inputs, l.alone)
	}
	link := []string{"wasm-ld", "-m", "wasm32", "--stack-first", "-z", fmt.Sprintf("stack-size=%d", stackSize), "-L" + libraries, libraries + "/crt1-command.o"}
	out := fmt.Sprintf("%s%d", scratch, b.PID())
	defer b.FS().Unlink(nil, out)
	var said []byte
	for i, in := range l.inputs {
		if in.source == "" {
			link = append(link, in.link...)
			continue
		}
		object := fmt.Sprintf("%s-%d.o", out, i)
		defer b.FS().Unlink(nil, object)
		if r, err = b.compile(ctx, l, l.inputs[i:i+1], slices.Concat(l.compile, in.before, []string{"-c", in.source, "-o", object})); err != nil || r.Code != 0 {
			return r, err
		}
		said = append(said, r.said...)
		link = append(link, object)
	}
	if l.cxx {
		defer b.FS().Unlink(nil, out+".o")
		if err := b.exceptions(ctx, out+".o"); err != nil {
			return nil, err
		}
		link = append(link, "--wrap=__main_void", out+".o", "-lc++", "-lc++abi")
	}
	for _, name := range emulated {
		link = append(link, "-lwasi-emulated-"+name)
	}
	if r, err = b.step(ctx, append(link, "-lsetjmp", "-lc-printscan-long-double", "-lc", builtins, "-o", out)); err == nil {
		r.said = append(said, r.said...)
		if r.Code == 0 {
			r.made, err = b.read(out)
		}
	}
	return r, err
}

// compile runs the compiler with flags, which name the inputs.
func (b *builder) compile(ctx context.Context, l *line, inputs []input, flags []string) (*built, error) {
	if pch := b.precompiled(ctx, l, inputs); pch != "" {
		r, err := b.step(ctx, clang(l.cxx, append([]string{"-include-pch", pch}, flags...)...))
		if err != nil || r.Code == 0 || !surplus(r.said) {
			return r, err
		}
	}
	return b.step(ctx, clang(l.cxx, flags...))
}

// emulated are the parts of the C library that WASI has not, and a library of its own does
// as well as it can.
var emulated = []string{"process-clocks", "signal", "getpid", "mman"}

// clang returns a command line of clang. Exceptions, and longjmp, are WebAssembly's in their
// first form, which package rewrite knows. Loops are vectorized, as gcc's are, also those that
// add floating-point numbers in their order.
func clang(cxx bool, args ...string) []string {
	line := []string{"clang", "--target=" + target, "--sysroot=" + root, "-resource-dir=" + root, "-mllvm", "-wasm-enable-sjlj", "-mllvm", "-wasm-use-legacy-eh=true", "-msimd128", "-mllvm", "-force-ordered-reductions=true"}
	for _, name := range emulated {
		line = append(line, "-D_WASI_EMULATED_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	}
	if cxx {
		line[0] = "clang++"
		if !slices.Contains(args, "-fno-exceptions") {
			line = append(line, "-fwasm-exceptions")
		}
	}
	return append(line, args...)
}

// exceptions writes the object with what the package's libraries lack of C++'s exceptions.
func (b *builder) exceptions(ctx context.Context, name string) error {
	file, err := derive(ctx, b.Engine, b.Code, runtimeKey)
	if err != nil {
		return err
	}
	object, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return guest.Write(ctx, b.Process, name, object, 0o600)
}

// step runs a tool and keeps what it says.
func (b *builder) step(ctx context.Context, args []string) (*built, error) {
	text := &said{}
	b.stderr = b.FS().NewFile(memfs.NewOutput("stderr", text), abi.O_WRONLY, abi.S_IFIFO|0o600)
	end, err := b.tool(ctx, args)
	b.stderr = nil
	return &built{End: end, said: text.Bytes()}, err
}

// tool runs a program of the module in this process.
func (b *builder) tool(ctx context.Context, args []string) (engine.End, error) {
	own := b.Args
	b.Args, b.Env = args, b.variables()
	defer func() { b.Args, b.Env = own, b.env }()
	in, _, err := engine.Begin(ctx, b.Process, b.Code, nil)
	if err != nil {
		return engine.End{}, err
	}
	defer in.Close()
	if b.stderr != nil {
		in.Replace(2, b.stderr)
	}
	if b.looked != nil {
		in.Looked = func(name string) { b.looked[name] = true }
	}
	_, err = in.Call("_start")
	return in.End(err), nil
}

// variables returns those of the environment that the tools are told, and one by which the linker
// returns at its end: for proc_exit, a panic, wazero describes each function (25 ms, and 22 MB stay).
func (b *builder) variables() []string {
	list := []string{"LLD_IN_TEST=1"}
	for _, v := range b.env {
		if name, _, _ := strings.Cut(v, "="); slices.Contains([]string{"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "SOURCE_DATE_EPOCH"}, name) {
			list = append(list, v)
		}
	}
	return list
}

// abs returns the absolute path of a file.
func (b *builder) abs(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(b.Dir, name)
}

// read returns what a tool has made.
func (b *builder) read(name string) ([]byte, error) {
	n, errno := b.FS().Lookup(nil, b.abs(name), true)
	if errno != abi.OK {
		return nil, fmt.Errorf("%s: %w", name, errno)
	}
	if size := b.FS().Stat(n).Size; size > engine.MaxOwn {
		return nil, fmt.Errorf("%s has %d bytes; at most %d can be run", name, size, engine.MaxOwn)
	}
	return b.FS().ReadFile(b.abs(name))
}
