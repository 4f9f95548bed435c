package compiler

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sample"
	"coderunner/pyodide"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/wasmbin"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		os.Exit(Main(context.Background(), os.Args[2:], os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

// code joins instructions, some of them many times.
type code []byte

func (c code) op(b ...byte) code        { return append(c, b...) }
func (c code) times(n int, b code) code { return append(c, slices.Repeat(b, n)...) }
func (c code) i32(v int) code           { return wasmbin.AppendI32Const(c, int32(v)) }
func (c code) idx(op byte, n int) code  { return wasmbin.AppendOp(c, op, uint32(n)) }
func (c code) each(n int, f func(c code, i int) code) code {
	for i := range n {
		c = f(c, i)
	}
	return c
}

// compile compiles a shared library in another process.
func compile(t *testing.T, memory int64, build func(b *wasmbin.Builder)) error {
	t.Helper()
	var b wasmbin.Builder
	b.ImportMemory("env", "memory", wasmbin.Limits{})
	build(&b)
	library := wasmbin.AppendSection([]byte(wasmbin.Header), wasmbin.SecCustom, wasmbin.AppendName(nil, "dylink.0"), []byte{1, 4, 0, 0, 0, 0})
	library = append(library, b.Bytes()[len(wasmbin.Header):]...)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "library"), library, 0o600); err != nil {
		t.Fatal(err)
	}
	err := New(memory).Compile(context.Background(), dir, memory)
	for _, name := range []string{codestore.StubFile, codestore.CodeFile} {
		if _, serr := os.Stat(filepath.Join(dir, name)); serr != nil && err == nil {
			t.Error(serr)
		}
	}
	return err
}

// function adds a function of that code.
func function(b *wasmbin.Builder, c code, locals ...wasmbin.ValType) uint32 {
	return b.Func(wasmbin.FuncType{}, locals, c)
}

// hostile are libraries made to take a compiler's memory or time.
var hostile = map[string]func(b *wasmbin.Builder){
	"calls and globals": func(b *wasmbin.Builder) {
		for range 5000 {
			b.GlobalI32(true, 0)
		}
		function(b, code(nil).times(10_000, code(nil).idx(wasmbin.OpCall, 0)))
	},
	"branches": func(b *wasmbin.Builder) {
		table := code(nil).op(wasmbin.OpBlock, 0x40).i32(0).idx(wasmbin.OpBrTable, 65_000).times(65_001, code{0}).op(wasmbin.OpEnd)
		function(b, table.times(2, table))
	},
	"large": func(b *wasmbin.Builder) {
		function(b, code(nil).i32(1).times(1_200_000, code(nil).i32(3).op(wasmbin.OpI32Add)).op(wasmbin.OpDrop))
	},
	"nesting": func(b *wasmbin.Builder) {
		const depth = 1000
		function(b, code(nil).each(depth, func(c code, i int) code { return c.i32(i).op(wasmbin.OpI32Load, 2, 0, wasmbin.OpIf, 0x40) }).
			times(depth, code{wasmbin.OpEnd}))
	},
	"locals": func(b *wasmbin.Builder) {
		locals := slices.Repeat([]wasmbin.ValType{wasmbin.I32}, 40_000)
		function(b, code(nil).each(3, func(c code, _ int) code {
			return c.op(wasmbin.OpLoop, 0x40).each(len(locals), func(c code, i int) code {
				return c.idx(wasmbin.OpLocalGet, i).op(wasmbin.OpI32Load, 2, 0).idx(wasmbin.OpLocalSet, (i*7+1)%len(locals))
			}).i32(0).op(wasmbin.OpBrIf, 0, wasmbin.OpEnd)
		}), locals...)
	},
	"known bounds": func(b *wasmbin.Builder) { // of each address, at the end of each block
		function(b, code(nil).op(wasmbin.OpBlock, 0x40).each(100_000, func(c code, i int) code {
			return c.i32(i).op(wasmbin.OpI32Load, 2, 0, wasmbin.OpBrIf, 0)
		}).op(wasmbin.OpEnd))
	},
}

// TestHostile wants each library to be compiled within its limits or refused,
// and the next one to be compiled.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for a minute")
	}
	const memory = 512 << 20
	for _, name := range sample.Of(t, 3, slices.Sorted(maps.Keys(hostile))) {
		build := hostile[name]
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			err := compile(t, memory, build)
			if err != nil && !errors.Is(err, pyodide.ErrBudget) {
				t.Errorf("%v, want %v", err, pyodide.ErrBudget)
			}
			t.Logf("%v after %v", err, time.Since(begin).Round(time.Millisecond))
		})
	}
}

func TestCompile(t *testing.T) {
	if err := compile(t, 512<<20, func(b *wasmbin.Builder) { function(b, nil) }); err != nil {
		t.Error(err)
	}
	err := compile(t, 512<<20, func(b *wasmbin.Builder) {
		b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{}))
	})
	if err == nil || errors.Is(err, pyodide.ErrBudget) || !strings.Contains(err.Error(), "memory of its own") {
		t.Errorf("%v", err)
	}
	if err := compile(t, 512<<20, hostile["calls and globals"]); !errors.Is(err, pyodide.ErrBudget) || !strings.Contains(err.Error(), "512 MiB") {
		t.Errorf("%v, want %v", err, pyodide.ErrBudget)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := New(1).Compile(ctx, t.TempDir(), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// TestLasting compiles parts of libraries in one process, as long as that lives, and after it has
// died of one.
func TestLasting(t *testing.T) {
	ctx := context.Background()
	c := New(512 << 20)
	part := func(wasm []byte) error {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "part"), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
		err := c.Compile(ctx, dir, 0)
		if _, serr := os.Stat(filepath.Join(dir, codestore.CodeFile)); (serr == nil) != (err == nil) {
			t.Errorf("compile: %v, its machine code: %v", err, serr)
		}
		return err
	}
	var good, costly wasmbin.Builder
	function(&good, nil)
	hostile["calls and globals"](&costly)
	pid := func() int { return c.idle[0].cmd.Process.Pid }
	if err := part(good.Bytes()); err != nil {
		t.Fatal(err)
	}
	first := pid()
	if err := part([]byte("no module")); err == nil || errors.Is(err, pyodide.ErrBudget) || pid() != first {
		t.Errorf("%v, process %d, want %d", err, pid(), first)
	}
	if err := part(good.Bytes()); err != nil || pid() != first {
		t.Errorf("%v, process %d, want %d", err, pid(), first)
	}
	if err := part(costly.Bytes()); !errors.Is(err, pyodide.ErrBudget) {
		t.Errorf("%v, want %v", err, pyodide.ErrBudget)
	}
	if err := part(good.Bytes()); err != nil || pid() == first {
		t.Errorf("%v, process %d, want another one", err, pid())
	}
	last := c.takeIdle()
	c.wait = 0
	c.putIdle(last)
	for last.replies.Scan() { // until the process has ended
	}
	c.wait = time.Hour
	if err := part(good.Bytes()); err != nil {
		t.Error(err)
	}
	last = c.idle[0]
	if c.Close(); last.cmd.ProcessState == nil {
		t.Error("a process outlives the compiler")
	}
	if l := c.takeIdle(); l != nil {
		t.Error("a process that was ended is still kept")
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.Compile(ctx, t.TempDir(), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
