//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"coderunner/internal/sample"
	"coderunner/pyodide/wasmbin"
)

// mainModule reads the module of CPython that the server runs.
func mainModule(t *testing.T) *wasmbin.Module {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(suiteCache, "trees", "npm", "pyodide@*", "data", "pyodide.asm.wasm"))
	if err != nil || len(found) == 0 {
		t.Fatalf("the cache has no module: %v", err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmbin.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// finder asks which of the names a program can get by ctypes.
const finder = `
import ctypes, json, sys
lib = ctypes.CDLL(None)
found = []
for name in json.load(sys.stdin):
    try: getattr(lib, name); found.append(name)
    except AttributeError: pass
found
`

// caller calls a function with a script that would give itself away, or with
// numbers that are no addresses.
func caller(name, args string) string {
	return fmt.Sprintf(`
import ctypes
f = getattr(ctypes.CDLL(None), %q)
f.restype = ctypes.c_void_p
script = ctypes.create_string_buffer(b"console.log('eval' + 'uated'); 'eval' + 'uated'")
sig = ctypes.create_string_buffer(b"iii")
big = ctypes.c_uint32(0xfffffff0)
r = f(%s)
print("returned")
try: print(ctypes.string_at(r, 40) if r and r < 1 << 28 else r)
except (ValueError, TypeError): pass
`, name, args)
}

// TestExports calls every function that the real module exports or imports
// under a name of Emscripten's, and everything that evaluates or calls
// JavaScript in other hosts (CVE-2026-24002), each in an interpreter of its own:
// they may break that, and nothing else.
func TestExports(t *testing.T) {
	needsServer(t)
	t.Parallel()
	m := mainModule(t)
	names := map[string]bool{}
	for _, e := range m.Exports {
		if e.Kind == wasmbin.KindFunc && (strings.Contains(e.Name, "emscripten_") || strings.Contains(e.Name, "em_proxying")) {
			names[e.Name] = true
		}
	}
	exported := len(names)
	for _, i := range m.Imports {
		if i.Kind == wasmbin.KindFunc { // all that the host gives
			names[i.Name] = true
		}
	}
	for _, name := range []string{"run_script", "run_script_int", "run_script_string", "async_run_script", "async_load_script", "asm_const_double", "asm_const_ptr",
		"create_worker", "call_worker", "fetch", "wget", "websocket_new", "idb_load", "browse_url", "start_fetch"} {
		names["emscripten_"+name] = true // other builds have them
	}
	if exported < 50 || len(names) < 300 {
		t.Fatalf("only %d exported, %d in all", exported, len(names))
	}
	s, before := warmed(t, settings{cache: ownCache(t)})
	list, err := json.Marshal(slices.Sorted(maps.Keys(names)))
	if err != nil {
		t.Fatal(err)
	}
	o, text, err := s.run(arguments{Language: python, Code: finder, Stdin: string(list), Timeout: 60})
	if err != nil || o.Status != "succeeded" {
		t.Fatalf("%v %s", err, text)
	}
	var found []string
	if err := json.Unmarshal([]byte(strings.ReplaceAll(o.text(), "'", `"`)), &found); err != nil {
		t.Fatalf("%v: %s", err, clip(o.text(), 300))
	}
	ends := map[string]int{}
	s.eachProgram(t, found, []string{"script, sig, script", "big, sig, script, big"}, caller, ends)
	for _, l := range s.settle(*before) {
		t.Error("left: " + l)
	}
}

// systemCalls are functions of the guest's C library that end in the host.
const systemCalls = "read write open openat stat lstat fstat fstatat getdents64 readdir readlink mmap munmap msync mremap readv writev preadv pwritev pread pwrite poll select pselect getcwd chdir fchdir mkdir rmdir rename unlink unlinkat truncate ftruncate fallocate lseek ioctl fcntl pipe pipe2 dup dup2 dup3 socket socketpair bind listen accept connect shutdown send recv sendto recvfrom sendmsg recvmsg getsockname getpeername getsockopt setsockopt getaddrinfo gethostbyname getrandom getentropy clock_gettime clock_settime nanosleep utimensat statfs fstatfs statvfs symlink link chmod fchmod chown access faccessat realpath uname sysconf getrusage setrlimit prlimit kill raise execve fork vfork popen system dlopen dlsym dlclose sbrk brk sigaction sigprocmask setitimer"

// systemCaller calls one with every mix of two bad numbers.
func systemCaller(name, numbers string) string {
	return fmt.Sprintf(`
import ctypes
f = getattr(ctypes.CDLL(None), %q)
for a in (%[2]s):
    for b in (%[2]s):
        try: f(ctypes.c_uint32(a), ctypes.c_uint32(b), ctypes.c_uint32(a), ctypes.c_uint32(b), ctypes.c_uint32(b), ctypes.c_uint32(a))
        except (ctypes.ArgumentError, OSError): pass
"returned"`, name, numbers)
}

// TestSystemCalls calls the guest's system calls with hostile arguments, each
// in an interpreter of its own.
func TestSystemCalls(t *testing.T) {
	needsServer(t)
	t.Parallel()
	s, before := warmed(t, settings{cache: ownCache(t)})
	o, text, err := s.run(arguments{Language: python, Code: finder, Stdin: `["` + strings.ReplaceAll(systemCalls, " ", `","`) + `"]`, Timeout: 60})
	if err != nil || o.Status != "succeeded" {
		t.Fatalf("%v %s", err, text)
	}
	var found []string
	if err := json.Unmarshal([]byte(strings.ReplaceAll(o.text(), "'", `"`)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found) < 60 {
		t.Fatalf("only %d: %q", len(found), found)
	}
	ends := map[string]int{}
	s.eachProgram(t, found, []string{"1, 0xffffffff, 0x7fffffff, 0x80000000", "3, 0xfffff000, 0x0fffffff, 4096"}, systemCaller, ends)
	for _, l := range s.settle(*before) {
		t.Error("left: " + l)
	}
}

// eachProgram runs a program for each variant of a sample of the names, four at
// a time. Ends counts the statuses.
func (s *server) eachProgram(t *testing.T, names, variants []string, program func(name, variant string) string, ends map[string]int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	type call struct{ name, variant string }
	work := make(chan call)
	for range 4 {
		wg.Go(func() {
			for c := range work {
				o, text, err := s.run(arguments{Language: python, Code: program(c.name, c.variant), Timeout: 1})
				if err != nil {
					t.Errorf("%v: %v", c, err)
					continue
				}
				for _, w := range (expect{status: anyEnd, not: "evaluated"}).judge(o, text) {
					t.Errorf("%v: %s", c, w)
				}
				mu.Lock()
				ends[o.Status]++
				mu.Unlock()
			}
		})
	}
	for _, name := range sample.Of(t, 8, names) {
		for _, v := range variants {
			work <- call{name, v}
		}
	}
	close(work)
	wg.Wait()
	if err := s.probe(python); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.junk {
		t.Errorf("no protocol on stdout: %s", j)
	}
}
