package kernel

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// childCPU is the processor time that procKernel's child uses.
const childCPU = 20 * time.Millisecond

// TestProc reads /proc as programs do.
func TestProc(t *testing.T) {
	k, main, stop := procKernel(t)
	defer stop()
	main.Measure(func() Usage { return Usage{Memory: 3 << 20, CPU: 1500 * time.Millisecond} })
	for path, want := range map[string]string{
		"meminfo":         "MemTotal:          65536 kB\n",
		"cpuinfo":         "processor\t: 0\n",
		"stat":            "cpu  1",
		"loadavg":         "0.00 0.00 0.00 1/2 43\n",
		"mounts":          "memory / tmpfs rw 0 0\n",
		"self/comm":       "a-name-longer-t\n",
		"self/cmdline":    "a-name-longer-than-that\x00x y\x00",
		"42/environ":      "A=1\x00",
		"42/statm":        "48 48 0 ",
		"42/status":       "VmRSS:\t    3072 kB\n",
		"42/task/42/stat": "42 (a-name-longer-t) R 1 42 42 0 -1 0 0 0 0 0 150 0 ",
		"43/stat":         "43 (child) Z 42 ",
	} {
		b, err := fs.ReadFile(k.fs.FS(), "proc/"+path)
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("/proc/%s: %q, %v, want %q", path, b, err, want)
		}
	}
	for path, want := range map[string]string{"self/cwd": "/w", "42/exe": "/bin/a-name-longer-than-that", "43/root": "/"} {
		n, e := k.fs.Lookup(nil, "/proc/"+path, false)
		if e != abi.OK {
			t.Fatalf("/proc/%s: %v", path, e)
		}
		if got, e := k.fs.Readlink(n); got != want || e != abi.OK {
			t.Errorf("/proc/%s: %q, %v, want %q", path, got, e, want)
		}
	}
	for _, path := range []string{"44", "042", "-1", "1/stat", "42/nope", "42/task/43/stat", "net/nope", "42/stat/x"} {
		if _, e := k.fs.Lookup(nil, "/proc/"+path, true); e != abi.ENOENT && e != abi.ENOTDIR {
			t.Errorf("/proc/%s: %v, want none", path, e)
		}
	}
	child := k.Processes()[1]
	if used := child.Usage().CPU; used < childCPU || used != child.Usage().CPU || k.Busy() < 1500*time.Millisecond+used {
		t.Errorf("a zombie's processor time is %v, and all processes' %v", used, k.Busy())
	}
	if w, _ := main.Wait(context.Background(), -1, 0); w.CPU < childCPU || k.Busy() < 1500*time.Millisecond+childCPU {
		t.Errorf("waited for: %v, and all processes %v", w.CPU, k.Busy())
	}
	if err := k.fs.WriteFile("/proc/meminfo", nil, 0o644); err == nil {
		t.Error("/proc/meminfo can be written")
	}
	if got, want := countFiles(t, k.fs, "/proc"), len(machineFiles)+2*len(processFiles); got != want {
		t.Errorf("%d files, want %d", got, want)
	}
}

func TestEtc(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	if err := MakeDirs(fsys, fstest.MapFS{}, func(path string) bool { return path == "/etc/hosts" }); err != nil {
		t.Fatal(err)
	}
	if got, want := countFiles(t, fsys, "/etc"), len(etc)-1; got != want {
		t.Errorf("%d files, want %d: all but the host's", got, want)
	}
	if _, err := fsys.ReadFile("/etc/hosts"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("/etc/hosts: %v, want none", err)
	}
}

// countFiles counts the files in and below a directory, and reads them.
func countFiles(t *testing.T, fsys *memfs.FS, dir string) (n int) {
	t.Helper()
	f, e := fsys.Open(context.Background(), nil, dir, abi.O_RDONLY|abi.O_DIRECTORY, 0)
	if e != abi.OK {
		t.Fatalf("open %s: %v", dir, e)
	}
	defer f.Close()
	var list []abi.Dirent
	f.ReadDir(func(d abi.Dirent) bool { list = append(list, d); return true })
	for _, d := range list {
		at := dir + "/" + d.Name
		switch uint32(d.Type) << 12 {
		case abi.S_IFREG:
			if _, err := fsys.ReadFile(at); err != nil {
				t.Error(err)
			}
			n++
		case abi.S_IFDIR:
			if d.Name != "." && d.Name != ".." {
				n += countFiles(t, fsys, at)
			}
		}
	}
	return n
}

// procKernel returns a kernel with a main process, which runs until stop, and a child
// that has ended.
func procKernel(t *testing.T) (k *Kernel, main *Process, stop func()) {
	t.Helper()
	k, err := New(Options{FS: memfs.New(memfs.Options{MaxBytes: 64 << 20}), Bin: fstest.MapFS{}})
	if err != nil {
		t.Fatal(err)
	}
	main, err = k.Main(Exec{Path: "/bin/a-name-longer-than-that", Args: []string{"a-name-longer-than-that", "x y"}, Env: []string{"A=1"}, Dir: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	ready, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		main.Run(context.Background(), func(context.Context, *Process) int {
			c, err := main.Start(Exec{Path: "child", Args: []string{"child"}, Program: func(context.Context, *Process) int {
				for began := time.Now(); time.Since(began) < childCPU; {
				}
				return 3
			}})
			if err != nil {
				t.Error(err)
			} else {
				<-c.Done()
			}
			close(ready)
			<-end
			return 0
		})
	}()
	<-ready
	return k, main, func() { close(end); <-ended; k.End() }
}
