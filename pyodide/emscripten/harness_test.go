package emscripten

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/experimental/wazerotest"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/hostfn"
)

// kernel is a process with 128 KiB of memory full of question marks, so that a
// byte written where it should not be shows.
type kernel struct {
	t   testing.TB
	p   *Process
	mem []byte
	ctx context.Context
	// next is where text and words of a test go, from 0x8000 on.
	next uint32
	rows map[string]*hostfn.Row
}

const memorySize = 0x20000

var questionMarks = bytes.Repeat([]byte("?"), memorySize)

func newKernel(t testing.TB, c Config) *kernel {
	t.Helper()
	if c.FS == nil {
		c.FS = memfs.New(memfs.Options{})
	}
	c.Guest = someGuest()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	k := &kernel{t: t, p: p, next: 0x8000, rows: map[string]*hostfn.Row{}}
	m := wazerotest.NewFixedMemory(memorySize)
	k.mem = m.Bytes
	k.mask()
	p.SetMemory(m)
	k.ctx = NewContext(context.Background(), p)
	table := Rows()
	for i := range table {
		k.rows[table[i].Name] = &table[i]
	}
	return k
}

// mask fills the memory with question marks.
func (k *kernel) mask() {
	copy(k.mem, questionMarks)
	k.next = 0x8000
}

// call calls a function by its name, as the guest does. Arguments may be int,
// uint32, int64 or string; a string is put into memory, with a NUL, and its
// address passed.
func (k *kernel) call(name string, args ...any) int64 {
	k.t.Helper()
	return k.callContext(k.ctx, name, args...)
}

func (k *kernel) callContext(ctx context.Context, name string, args ...any) int64 {
	k.t.Helper()
	r := k.rows[name]
	if r == nil {
		r = k.rows["__syscall_"+name]
	}
	if r == nil {
		k.t.Fatalf("no function %s", name)
	}
	if len(args) != len(r.Params()) {
		k.t.Fatalf("%s has type %s, called with %d arguments", name, r.Sig, len(args))
	}
	stack := make([]uint64, max(len(args), 1))
	for i, a := range args {
		switch a := a.(type) {
		case int:
			stack[i] = uint64(uint32(a))
		case uint32:
			stack[i] = uint64(a)
		case int64:
			stack[i] = uint64(a)
		case string:
			stack[i] = uint64(k.put(append([]byte(a), 0)))
		default:
			k.t.Fatalf("%s: argument %d is a %T", name, i, a)
		}
	}
	r.Fn(ctx, stack)
	k.declared(r, stack[0])
	if len(r.Results()) == 0 {
		return 0
	}
	if r.Sig[len(r.Sig)-1] == 'i' {
		return int64(int32(uint32(stack[0])))
	}
	return int64(stack[0])
}

// put copies b to fresh memory.
func (k *kernel) put(b []byte) uint32 {
	addr := k.next
	copy(k.mem[addr:], b)
	k.next += (uint32(len(b)) + 15) &^ 15
	return addr
}

func (k *kernel) words(v ...uint32) uint32 {
	var b []byte
	for _, x := range v {
		b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
	}
	return k.put(b)
}

func (k *kernel) word(addr uint32) uint32 {
	v, _ := k.p.mem.Uint32(addr)
	return v
}

// want calls a function and compares its result; a negative errno is shown by
// its name.
func (k *kernel) want(want any, name string, args ...any) {
	k.t.Helper()
	got := k.call(name, args...)
	var number int64
	switch w := want.(type) {
	case abi.Errno:
		number = -int64(w)
		if r := k.rows[name]; r != nil && r.Module != "env" {
			number = int64(w)
		}
	case int:
		number = int64(w)
	}
	if got != number {
		k.t.Errorf("%s(%v) = %s, want %v", name, args, result(got), want)
	}
}

func result(v int64) string {
	if v < 0 && v > -200 {
		return abi.Errno(-v).Name()
	}
	return fmt.Sprint(v)
}

// wantMemory compares n bytes at addr.
func (k *kernel) wantMemory(addr uint32, want string) {
	k.t.Helper()
	if got := k.mem[addr : addr+uint32(len(want))]; !bytes.Equal(got, []byte(want)) {
		k.t.Errorf("memory at %#x is %q, want %q", addr, got, want)
	}
}

// open opens a file and gives the descriptor.
func (k *kernel) open(path string, flags uint32, mode uint32) int {
	k.t.Helper()
	fd := k.call("openat", abi.AT_FDCWD, path, flags, k.words(mode))
	if fd < 0 {
		k.t.Fatalf("open %s: %s", path, result(fd))
	}
	return int(fd)
}

// read reads up to n bytes and gives them.
func (k *kernel) read(fd, n int) (string, abi.Errno) {
	k.t.Helper()
	buf := k.put(make([]byte, n))
	count := k.words(0)
	if errno := k.call("fd_read", fd, k.words(buf, uint32(n)), 1, count); errno != 0 {
		return "", abi.Errno(errno)
	}
	return string(k.mem[buf : buf+k.word(count)]), abi.OK
}

func (k *kernel) write(fd int, s string) abi.Errno {
	k.t.Helper()
	return abi.Errno(k.call("fd_write", fd, k.words(k.put([]byte(s)), uint32(len(s))), 1, k.words(0)))
}

// someGuest is one in which nothing happens.
func someGuest() Guest {
	return Guest{
		MapShared: func(*memfs.File, uint32, uint32, int64) abi.Errno { return abi.EOPNOTSUPP },
		Malloc:    func(context.Context, uint32) uint32 { return 0 }, Free: func(context.Context, uint32) {}, Memalign: memalign,
		SetErrno: func(context.Context, int32) {}, Raise: func(context.Context, string) {}, DlError: func(context.Context, string) {},
		Rest: func() func() { return func() {} },
		Park: func() abi.Errno { return abi.EBUSY }, CallHandler: func(context.Context, uint32, int32) {}, Alarm: func(uint32) {},
		Dlopen:          func(context.Context, uint32) int32 { return 0 },
		Dlsym:           func(context.Context, uint32, uint32) uint32 { return 0 },
		FFICall:         func(_ context.Context, _, _, _, _ uint32) {},
		FFIClosureAlloc: func(context.Context, uint32, uint32) uint32 { return 0 },
		FFIClosureFree:  func(context.Context, uint32) {},
		FFIClosurePrep:  func(_ context.Context, _, _, _, _, _ uint32) int32 { return 0 },
	}
}

// memalign hands out the upper half of the memory, whenever it is asked.
func memalign(_ context.Context, _, size uint32) uint32 {
	if size > memorySize/2 {
		return 0
	}
	return memorySize / 2
}

// soon is how long a test waits for what should happen at once.
const soon = 5 * time.Second

// declared fails if a function answered with an errno that its row does not
// name.
func (k *kernel) declared(r *hostfn.Row, answer uint64) {
	k.t.Helper()
	n := int32(uint32(answer))
	if r.Module == "env" {
		n = -n
	}
	if r.Errnos == "" || n <= 0 || n > 200 {
		return
	}
	if name := abi.Errno(n).Name(); !slices.Contains(strings.Fields(r.Errnos), name) {
		k.t.Errorf("%s fails with %s, which its row does not name", r.Name, name)
	}
}
