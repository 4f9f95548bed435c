package rewrite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"coderunner/pyodide/wasmbin"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
)

// Addresses and offsets of pythonLike.
const (
	likeSelf, likeCurrent, likeErrno, likeCXX, likeValues = 2000, 3000, 3004, 3008, 4096
	likeCounter, likeHandle, likeStack                    = 72, 24, 65536
)

// pythonLike is a module that has of CPython's what threads need, without the
// exports in without, and with extra as the code of a function of its own.
func pythonLike(without string, extra asm) []byte {
	var b wasmbin.Builder
	sig := func(params string, results ...wasmbin.ValType) wasmbin.FuncType {
		t := wasmbin.FuncType{Results: results}
		for _, p := range params {
			t.Params = append(t.Params, map[rune]wasmbin.ValType{'i': wasmbin.I32, 'j': wasmbin.I64}[p])
		}
		return t
	}
	const i, j = wasmbin.I32, wasmbin.I64
	b.ImportFunc("env", threadHost, sig("iiii", i))
	b.ImportFunc("env", "exit", sig("i"))
	b.Define(wasmbin.KindMemory, wasmbin.SecMemory, wasmbin.AppendLimits(nil, wasmbin.Limits{Min: 1}))
	b.Export("memory", wasmbin.KindMemory, 0)
	b.Define(wasmbin.KindTable, wasmbin.SecTable, wasmbin.AppendTable(nil, wasmbin.Table{Type: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 4}}))
	b.GlobalI32(true, likeStack)
	b.Export("stack_base", wasmbin.KindGlobal, 0)
	b.GlobalI32(true, 0)
	add := func(name string, t wasmbin.FuncType, code asm) uint32 {
		f := b.Func(t, []wasmbin.ValType{i, i}, code)
		if name != "" && name != without {
			b.Export(name, wasmbin.KindFunc, f)
		}
		return f
	}
	get := func(v int32) asm { return asm(nil).i32(v) }
	add("pthread_self", sig("", i), get(likeSelf))
	add("_PyThreadState_GetCurrent", sig("", i), get(likeCurrent).op(wasmbin.OpI32Load, 2, 0))
	add("__errno_location", sig("", i), get(likeErrno))
	add("__cxa_get_globals", sig("", i), get(likeCXX))
	add("pthread_getspecific", sig("i", i), asm(nil).get(0).i32(likeValues).op(wasmbin.OpI32Add, wasmbin.OpI32Load, 2, 0))
	add("emscripten_stack_get_base", sig("", i), asm(nil).global(0))
	add("emscripten_stack_get_end", sig("", i), asm(nil).global(1))
	add("PyThread_get_stacksize", sig("", i), get(777))
	// Both mark that they were called, and the order.
	save := add("PyEval_SaveThread", sig("", i), get(8).i32(1).op(wasmbin.OpI32Store, 2, 0).i32(55))
	restore := add("PyEval_RestoreThread", sig("i"), get(12).get(0).op(wasmbin.OpI32Store, 2, 0))
	add("PyEval_AcquireThread", sig("i"), get(12).get(0).op(wasmbin.OpI32Store, 2, 0))
	add("_PySemaphore_Init", sig("i"), asm(nil).get(0).i32(0).op(wasmbin.OpI32Store, 2, likeCounter))
	add("_PySemaphore_Wait", sig("iji", i), get(0))
	add("PyThread_release_lock", sig("i"), asm(nil).get(0).i32(0).op(wasmbin.OpI32Store8, 0, 1))
	add("PyThread_acquire_lock_timed", sig("iji", i), get(0))
	add("PyThread_join_thread", sig("i", i), get(28))
	add("PyThread_start_joinable_thread", sig("iiii", i), get(-1))
	add("PyThread_start_new_thread", sig("ii", i), get(-1))
	add("PyThread_get_thread_ident", sig("", i), get(likeSelf))
	add("PyThread_get_thread_ident_ex", sig("", j), get(likeSelf).op(wasmbin.OpI64ExtendI32U))
	add("PyThread_exit_thread", sig(""), nil)
	add("pthread_exit", sig("i"), nil)
	nothing := b.Func(sig("i", i), nil, get(0))
	b.Export("pthread_mutex_lock", wasmbin.KindFunc, nothing)
	b.Export("nothing", wasmbin.KindFunc, nothing)
	mark := b.Func(sig("i"), nil, get(16).get(0).op(wasmbin.OpI32Store, 2, 0))
	b.Elements(0, 1, []uint32{mark, nothing})
	join := asm(nil).get(0).op(wasmbin.OpI32Load, 2, likeHandle, wasmbin.OpDrop).idx(wasmbin.OpCall, save).set(2).i32(28).set(3)
	name := "join"
	if without == "the handle" {
		join = asm(nil).idx(wasmbin.OpCall, save).set(2).i32(28).set(3)
	}
	f := b.Func(sig("i", i), []wasmbin.ValType{i, i, i}, join.get(2).idx(wasmbin.OpCall, restore).get(3))
	if without == "one join" {
		b.Func(sig("i", i), []wasmbin.ValType{i, i, i}, join.get(2).idx(wasmbin.OpCall, restore).get(3))
	}
	b.Export(name, wasmbin.KindFunc, f)
	b.Func(sig(""), nil, extra)
	return b.Bytes()
}

var threadOptions = Options{Lean: true, Trampoline: true, Threads: true}

// TestThreads calls the replaced functions, and those that are added.
func TestThreads(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures))
	defer r.Close(ctx)
	var calls []string
	answer := uint32(0)
	env := r.NewHostModuleBuilder("env")
	env.NewFunctionBuilder().WithFunc(func(op, a, b, c uint32) uint32 {
		calls = append(calls, fmt.Sprint(op-ThreadSpawn, " ", int32(a), " ", int32(b), " ", int32(c)))
		return answer
	}).Export(threadHost)
	env.NewFunctionBuilder().WithFunc(func(code uint32) { panic(fmt.Sprint("exit ", code)) }).Export("exit")
	if _, err := env.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	out, info := rewritten(t, pythonLike("", nil), threadOptions)
	m, err := r.Instantiate(ctx, out)
	if err != nil {
		t.Fatal(err)
	}
	want := ThreadState{likeSelf, likeCurrent, likeErrno, likeCXX, likeValues, "stack_base", "__global_1"}
	if d := cmp.Diff(want, info.Threads); d != "" {
		t.Error(d)
	}
	mem := m.Memory()
	word := func(addr uint32) uint32 { v, _ := mem.ReadUint32Le(addr); return v }
	minus := func(n int64) uint64 { return uint64(-n) }
	const block = 9000
	for _, c := range []struct {
		call   string
		args   []uint64
		answer uint32
		before map[uint32]uint32 // words
		want   uint64
		calls  string
		after  map[uint32]uint32
	}{
		{"PyThread_start_joinable_thread", []uint64{3, 4, 256, 264}, block, map[uint32]uint32{likeCurrent: 1, block + ThreadHandle: 5}, 0, "0 3 4 777", map[uint32]uint32{256: block, 260: 0, 264: 5}},
		{"PyThread_start_joinable_thread", []uint64{3, 4, 256, 264}, 0, map[uint32]uint32{likeCurrent: 0, 256: 1}, 1<<32 - 1, "0 3 4 0", map[uint32]uint32{256: 1}},
		{"PyThread_start_new_thread", []uint64{3, 4}, block, nil, block, "0 3 4 0", nil},
		{"PyThread_start_new_thread", []uint64{3, 4}, 0, nil, 1<<32 - 1, "0 3 4 0", nil},
		{"_PySemaphore_Wait", []uint64{100, minus(1), 1}, 7, map[uint32]uint32{likeCurrent: 0, 8: 0, 12: 0}, 7, "1 172 -1 -1", map[uint32]uint32{8: 0, 12: 0}},
		{"_PySemaphore_Wait", []uint64{100, 1<<32 + 2, 1}, 7, map[uint32]uint32{likeCurrent: 9}, 7, "1 172 2 1", map[uint32]uint32{8: 1, 12: 55}},
		{"PyThread_acquire_lock_timed", []uint64{500, 5, 0}, 0, map[uint32]uint32{500: 0}, 1, "", map[uint32]uint32{500: 0x100}},
		{"PyThread_acquire_lock_timed", []uint64{500, 0, 0}, 1, nil, 0, "", nil},
		{"PyThread_acquire_lock_timed", []uint64{500, 5, 0}, 1, nil, 1, "2 501 5 0", nil},
		{"PyThread_acquire_lock_timed", []uint64{500, minus(1), 1}, 2, nil, 2, "3 501 -1 -1", nil},
		{"join", []uint64{600}, 4, map[uint32]uint32{600 + likeHandle: 12}, 4, "4 12 0 0", map[uint32]uint32{12: 55}},
		{"PyThread_get_thread_ident", nil, 0, nil, likeSelf, "", nil},
		{"PyThread_get_thread_ident_ex", nil, 0, map[uint32]uint32{likeSelf + ThreadNumber: 99}, 99, "", nil},
		{"pthread_self", nil, 0, nil, 99, "", nil},
		{"pthread_mutex_lock", []uint64{1}, 3, nil, 0, "", nil},
		{"pthread_mutex_lock", []uint64{1}, 3, map[uint32]uint32{likeSelf + ThreadOthers: 1}, 3, "6 1 0 0", nil},
		{"nothing", []uint64{1}, 3, nil, 0, "", nil},
		{ThreadStart, []uint64{1, 88}, 0, nil, 0, "", map[uint32]uint32{16: 88}},
	} {
		calls, answer = nil, c.answer
		for addr, v := range c.before {
			mem.WriteUint32Le(addr, v)
		}
		got := run(t, m, c.call, c.args...)
		if all := strings.Join(calls, ", "); got != c.want || all != c.calls {
			t.Errorf("%s%v = %d with the calls %q, want %d, %q", c.call, c.args, got, all, c.want, c.calls)
		}
		for addr, v := range c.after {
			if word(addr) != v {
				t.Errorf("%s%v: the word at %d is %d, want %d", c.call, c.args, addr, word(addr), v)
			}
		}
	}
	for call, want := range map[string]string{"pthread_exit": "exit 0", "PyThread_exit_thread": "exit 0"} {
		var args []uint64
		if call == "pthread_exit" {
			args = []uint64{1}
		}
		calls = nil
		if _, err := m.ExportedFunction(call).Call(ctx, args...); err == nil || !strings.Contains(err.Error(), want) || strings.Join(calls, "") != "5 0 0 0" {
			t.Errorf("%s: %v, %v", call, calls, err)
		}
	}
	if _, err := m.ExportedFunction(ThreadStart).Call(ctx, 2, 0); err == nil { // another type
		t.Error("a thread of another type began")
	}
}

// TestThreadsMissing has modules that lack something, and code in the way.
func TestThreadsMissing(t *testing.T) {
	for _, name := range []string{"pthread_self", "_PyThreadState_GetCurrent", "__errno_location", "__cxa_get_globals", "pthread_getspecific",
		"emscripten_stack_get_base", "PyThread_get_stacksize", "PyEval_SaveThread", "PyEval_AcquireThread", "_PySemaphore_Init",
		"_PySemaphore_Wait", "PyThread_release_lock", "PyThread_join_thread", "PyThread_start_joinable_thread", "pthread_exit"} {
		if _, _, err := Module(pythonLike(name, nil), threadOptions); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for without, want := range map[string]string{"the handle": "does not load its handle", "one join": "2 functions join"} {
		if _, _, err := Module(pythonLike(without, nil), threadOptions); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", without, err)
		}
	}
	used := asm(nil).i32(likeSelf + ThreadNumber).op(wasmbin.OpDrop)
	if _, _, err := Module(pythonLike("", used), threadOptions); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("a word that is in use: %v", err)
	}
	if _, _, err := Module(pythonLike("", nil), Options{Threads: true}); err == nil {
		t.Error("threads without a trampoline")
	}
}
