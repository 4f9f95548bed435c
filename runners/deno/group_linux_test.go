package deno

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coderunner/internal/process"
	"coderunner/internal/sandbox"
	"coderunner/runners"
)

// TestControlGroup looks at the group of a program's process, and has the
// kernel end a program by it.
func TestControlGroup(t *testing.T) {
	if err := sandbox.Delegated(); err != nil {
		t.Skipf("no control group: %v", err)
	}
	r := openParked(t, 1)
	if err := r.Warm(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	in := waiting(t, r)[0]
	text, err := os.ReadFile("/proc/" + strconv.Itoa(in.Process.Pid()) + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(string(text), "0::")
	dir := filepath.Join("/sys/fs/cgroup", strings.TrimSpace(path))
	if !strings.HasPrefix(filepath.Base(dir), "coderunner-"+strconv.Itoa(os.Getpid())+"-") {
		t.Fatalf("the process is in %s", dir)
	}
	limit := func(name string) int64 {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return n
	}
	memory := limit("memory.max")
	t.Logf("%s: %d MiB when ready, %d at most, %d threads", filepath.Base(dir), limit("memory.current")>>20, memory>>20, limit("pids.max"))
	if least := in.Variant.Memory; memory < least || memory > least+2<<30 || limit("pids.max") != process.MaxThreads+1 || limit("memory.oom.group") != 1 {
		t.Errorf("memory.max %d", memory)
	}
	// RLIMIT_DATA would be first.
	less := strconv.FormatInt(limit("memory.current")+8<<20, 10)
	if err := os.WriteFile(filepath.Join(dir, "memory.max"), []byte(less), 0); err != nil {
		t.Fatal(err)
	}
	o := run(t, r, runners.Request{Code: `console.log("before"); new Uint8Array(1e8).fill(1)`})
	if o.Status != runners.OutOfMemory || o.Error == nil || o.Error.Type != "OutOfMemory" || o.Stdout != "before\n" {
		t.Errorf("%+v %+v", o, o.Error)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
	o = run(t, r, runners.Request{Code: "1 + 1"})
	if o.Result == nil || o.Result.Text != "2" {
		t.Errorf("afterwards: %+v %+v", o, o.Error)
	}
}
