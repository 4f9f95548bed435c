package emscripten

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/emscripten/layout"
	"coderunner/pyodide/hostfn"
)

// The functions in families, for a fuzz target each: sequences of calls within
// one get further than among all.
var families = map[string]string{
	"files": "openat fd_close fd_read fd_write fd_pread fd_pwrite fd_seek fd_sync fd_fdstat_get fdatasync " +
		"ftruncate64 truncate64 fallocate fadvise64 fstat64 fstatfs64 ioctl dup",
	"names": "openat fd_close chdir fchdir getcwd mkdirat mknodat rmdir unlinkat renameat symlinkat readlinkat getdents64 " +
		"stat64 lstat64 newfstatat faccessat chmod fchmod fchmodat2 fchown32 fchownat utimensat statfs64 umask_js fd_seek",
	"descriptors": "openat fd_close dup dup3 pipe fcntl64 ioctl poll fd_read fd_write fd_fdstat_get mknodat fstat64",
	"time": "clock_time_get clock_res_get emscripten_get_now emscripten_date_now _gmtime_js _localtime_js _mktime_js _timegm_js " +
		"_tzset_js _setitimer_js poll utimensat",
	"memory": "_mmap_js _msync_js _munmap_js openat fd_close ftruncate64 fd_write emscripten_resize_heap emscripten_get_heap_max random_get",
	"process": "environ_get environ_sizes_get exit proc_exit _abort_js __assert_fail __call_sighandler _emscripten_system " +
		"_emscripten_get_progname _emscripten_log_formatted emscripten_log_impl_js _setitimer_js _Py_emscripten_runtime " +
		"_Py_CheckEmscriptenSignals_Helper getuid32_js umask_js emscripten_asm_const_int _PyEM_TrampolineCall_JS " +
		"emscripten_promise_create emscripten_promise_resolve emscripten_promise_destroy _dlopen_js _dlsym_js " +
		"_emscripten_dlopen_js ffi_call_js ffi_closure_alloc_js ffi_closure_free_js ffi_prep_closure_loc_js",
	"sockets": "socket accept4 bind connect listen getpeername getsockname getsockopt recvfrom recvmsg sendmsg sendto fd_read fd_write " +
		"fd_close fcntl64 poll dup fstat64 getaddrinfo getnameinfo getprotobyname _emscripten_lookup_name _try_fcntl64 _try_shutdown " +
		"_maybe_connect_async _maybe_poll_async _maybe_recvfrom_async _maybe_sendto_async",
}

// indirect are functions that write where something in memory says.
var indirect = map[string]bool{"fd_read": true, "fd_pread": true, "__syscall_ioctl": true, "__syscall_fcntl64": true, "_mmap_js": true}

// TestFamilies: no function is left out.
func TestFamilies(t *testing.T) {
	all := map[string]bool{}
	for name := range families {
		for _, r := range family(t, name) {
			all[r.Name] = true
		}
	}
	for _, r := range Rows() {
		if !all[r.Name] && len(r.Params()) > 0 && !strings.HasPrefix(r.Name, "emscripten_runtime") {
			t.Errorf("%s is in no family", r.Name)
		}
	}
}

func family(t testing.TB, name string) (rows hostfn.Table) {
	names := strings.Fields(families[name])
	for _, r := range Rows() {
		if slices.Contains(names, r.Name) || slices.Contains(names, strings.TrimPrefix(r.Name, "__syscall_")) {
			rows = append(rows, r)
		}
	}
	if len(rows) != len(names) {
		t.Fatalf("family %s has %d functions, %d are there", name, len(names), len(rows))
	}
	return rows
}

func FuzzFiles(f *testing.F)       { fuzzFamily(f, "files") }
func FuzzNames(f *testing.F)       { fuzzFamily(f, "names") }
func FuzzDescriptors(f *testing.F) { fuzzFamily(f, "descriptors") }
func FuzzTime(f *testing.F)        { fuzzFamily(f, "time") }
func FuzzMemory(f *testing.F)      { fuzzFamily(f, "memory") }
func FuzzProcess(f *testing.F)     { fuzzFamily(f, "process") }
func FuzzSockets(f *testing.F)     { fuzzFamily(f, "sockets") }

// FuzzCalls makes sequences of calls of all functions.
func FuzzCalls(f *testing.F) { fuzzRows(f, Rows()) }

func fuzzFamily(f *testing.F, name string) { fuzzRows(f, family(f, name)) }

// fuzzRows makes sequences of calls from the fuzzer's bytes: a function, then
// its arguments, each a hostile value, one of the fuzzer's own, or a good one.
func fuzzRows(f *testing.F, rows hostfn.Table) {
	f.Add([]byte("open\x00\x01\x02\x03read write seek close"))
	f.Add(bytes.Repeat([]byte{40, 3, 7, 9, 11}, 40))
	f.Add(bytes.Repeat([]byte{0, 2, 3, 2, 6, 10, 5, 14, 1, 2, 3, 18, 22}, 20))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 4096 {
			return
		}
		z := newFuzzed(t, in)
		for len(z.in) > 0 {
			z.step(rows)
		}
		z.end()
	})
}

// fuzzed is a kernel under a fuzzer.
type fuzzed struct {
	*kernel
	in     []byte
	before []byte
}

const fuzzBytes = 8 << 20

func newFuzzed(t *testing.T, in []byte) *fuzzed {
	z := &fuzzed{kernel: hostileKernel(t), in: in, before: make([]byte, memorySize)}
	if err := z.p.fs.WriteFile("/x", []byte("some text"), 0o644); err != nil {
		t.Fatal(err)
	}
	copy(z.mem[0x100:], "/tmp\x00x\x00../dev/null\x00/x\x00link\x00/tmp/deep/er\x00")
	copy(z.mem[0x1000:], in)
	for i, w := range []uint32{0x3000, 16, 0x3100, 4, 3, 0x00050001, 4, 0x00050004, 0o644, 0o102, 0xffffff9c} {
		binary.LittleEndian.PutUint32(z.mem[0x2000+4*i:], w)
	}
	return z
}

func (z *fuzzed) byte() byte {
	if len(z.in) == 0 {
		return 0
	}
	b := z.in[0]
	z.in = z.in[1:]
	return b
}

// good are addresses where something is, and numbers that mean something.
var good = []uint64{0x100, 0x105, 0x107, 0x114, 0x117, 0x11c, 0x2000, 0x2008, 0x2010, 0x2020, 0x2024, 0x3000, 0x4000, 0x8000,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 280, 560, 1024, 0o102, 0o100, 0o2000, 0o4000, 0o200000, 0o40000, 0xffffff9c, 0x200, 0x1000}

func (z *fuzzed) argument() uint64 {
	switch b := z.byte(); b % 4 {
	case 0:
		return hostile[int(b>>2)%len(hostile)]
	case 1:
		var raw [8]byte
		z.in = z.in[copy(raw[:], z.in[:min(len(z.in), 2)]):]
		return binary.LittleEndian.Uint64(raw[:])
	default:
		return good[int(b>>2)%len(good)]
	}
}

// step makes one call and looks at what it has done.
func (z *fuzzed) step(rows hostfn.Table) {
	r := &rows[int(z.byte())%len(rows)]
	stack := make([]uint64, max(len(r.Params()), 1))
	for j, kind := range r.Params() {
		stack[j] = z.argument()
		if kind == 0x7f {
			stack[j] = uint64(uint32(stack[j]))
		}
	}
	args := slices.Clone(stack)
	copy(z.before, z.mem)
	stuck := time.AfterFunc(soon, func() { panic(fmt.Sprintf("%s hangs, called with %#x", r.Name, args)) })
	z.mustUnwind(r, stack)
	stuck.Stop()
	if !indirect[r.Name] {
		z.untouched(r, args)
	}
	if held, _ := z.p.fs.Usage(); held > fuzzBytes {
		z.t.Fatalf("%s(%#x): %d bytes are held, %d allowed", r.Name, args, held, fuzzBytes)
	}
}

// untouched fails if a byte has changed that no argument leads to: a function
// writes at an address that it was given, no more than the largest structure
// or another argument says.
func (z *fuzzed) untouched(r *hostfn.Row, args []uint64) {
	if bytes.Equal(z.before, z.mem) {
		return
	}
	const largest = 280
	most := uint64(largest)
	for _, a := range args {
		if a <= memorySize {
			most = max(most, a*layout.PollfdSize)
		} else {
			most = max(most, min(a, memorySize))
		}
	}
	for i := range z.mem {
		if z.mem[i] == z.before[i] {
			continue
		}
		if !slices.ContainsFunc(args, func(a uint64) bool { return uint64(i) >= a && uint64(i) < a+most }) {
			z.t.Fatalf("%s(%#x) has written to %#x", r.Name, args, i)
		}
	}
}

// end closes the process and removes all files: nothing may be held then.
func (z *fuzzed) end() {
	z.p.Close()
	if n := z.p.OpenFiles(); n != 0 || len(z.p.mappings) != 0 {
		z.t.Errorf("%d files and %d mappings are open after Close", n, len(z.p.mappings))
	}
	empty(z.t, z.p.fs, z.p.fs.Root())
	if held, names := z.p.fs.Usage(); held != 0 || names != 0 {
		z.t.Errorf("%d bytes and %d names are held in the end", held, names)
	}
}

// empty removes all that is in a directory.
func empty(t testing.TB, fsys *memfs.FS, dir *memfs.Node) {
	fsys.Chmod(dir, 0o700)
	f, errno := fsys.Open(context.Background(), dir, ".", abi.O_RDONLY, 0)
	if errno != abi.OK {
		t.Fatal(errno)
	}
	defer f.Close()
	var names []string
	if errno := f.ReadDir(func(d abi.Dirent) bool {
		if d.Name != "." && d.Name != ".." {
			names = append(names, d.Name)
		}
		return true
	}); errno != abi.OK {
		t.Fatal(errno)
	}
	for _, name := range names {
		n, errno := fsys.Lookup(dir, name, false)
		if errno != abi.OK {
			t.Fatalf("%s: %v", name, errno)
		}
		if n.IsDir() {
			empty(t, fsys, n)
			errno = fsys.Rmdir(dir, name)
		} else {
			errno = fsys.Unlink(dir, name)
		}
		if errno != abi.OK {
			t.Fatalf("remove %s: %v", name, errno)
		}
	}
}
