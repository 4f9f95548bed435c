package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/runners"
)

// workers returns the workers that this process has started.
func workers(t *testing.T) (running []*os.Process) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || lists == nil {
		t.Skip("the system does not tell a process's children")
	}
	for _, name := range lists {
		list, _ := os.ReadFile(name) // a thread may have ended
		for _, field := range strings.Fields(string(list)) {
			line, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if pid, err := strconv.Atoi(field); err == nil && strings.HasSuffix(string(line), "\x00worker\x00") {
				p, err := os.FindProcess(pid)
				if err != nil {
					t.Fatal(err)
				}
				running = append(running, p)
			}
		}
	}
	return running
}

// TestKilled kills workers while clients run programs in them. Each run has an outcome, and
// the next one runs.
func TestKilled(t *testing.T) {
	py, sh := open(t)
	if _, err := py.Run(t.Context(), runners.Request{Language: runners.Python, Code: "1"}); err != nil {
		t.Fatal(err) // the first one may have the runtime to compile
	}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				r, req := py, runners.Request{Language: runners.Python, Code: "print(6 * 7)"}
				if i%2 == 1 {
					r, req = sh, runners.Request{Language: runners.Bash, Code: "echo $((6 * 7))"}
				}
				req.Client = strconv.Itoa(client)
				o, err := r.Run(t.Context(), req)
				switch {
				case err != nil:
					t.Errorf("client %d: %v", client, err)
				case o.Status == runners.Succeeded && o.Stdout == "42\n":
				case o.Status == runners.Crashed && o.Error != nil:
				default:
					t.Errorf("client %d: %+v", client, o)
				}
			}
		})
	}
	for killed := 0; killed < 20 && !t.Failed(); time.Sleep(300 * time.Millisecond) {
		for _, p := range workers(t) {
			if p.Kill() == nil {
				killed++
			}
		}
	}
	stop()
	clients.Wait()
	for _, r := range []runners.Runner{py, sh} {
		req := runners.Request{Language: runners.Python, Code: "print(1)"}
		if r == sh {
			req = runners.Request{Language: runners.Bash, Code: "echo 1"}
		}
		if o, err := r.Run(t.Context(), req); err != nil || o.Stdout != "1\n" {
			t.Errorf("afterwards: %+v, %v", o, err)
		}
	}
}

// TestOverrun has a program that does not look at its context run beyond its time limit: it
// is timed out, and a program beside it in the same worker ends as it should.
func TestOverrun(t *testing.T) {
	_, sh := open(t)
	run := func(code string, limit time.Duration) *runners.Outcome {
		o, err := sh.Run(t.Context(), runners.Request{Language: runners.Bash, Code: code, Limits: runners.Limits{Timeout: limit, Memory: 4 << 30}})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	var beside sync.WaitGroup
	for range 4 { // more than there are workers
		beside.Go(func() {
			if o := run("sleep 1.5; echo done", time.Minute); o.Stdout != "done\n" {
				t.Errorf("beside: %+v", o)
			}
		})
	}
	begun := time.Now()
	o := run("echo begun; echo aaaaaaaaaa | sed ':a;s/./&&/g;ta' | wc -c", time.Second)
	if o.Status != runners.TimedOut || !strings.HasPrefix(o.Stdout, "begun\n") {
		t.Errorf("%+v after %v", o, time.Since(begun))
	}
	beside.Wait()
}

// TestMemory has a script take memory that is charged to nobody. Its worker is ended before it
// has much more than the script's limit, and the outcome says so.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of other processes is not known here")
	}
	_, sh := open(t)
	const limit, beside = 256 << 20, 64 << 20
	o, err := sh.Run(t.Context(), runners.Request{
		Language: runners.Bash, Code: "yes 'a b' | head -c 60000000 | tr '\\n' ' ' > ab; join ab ab | wc -c",
		Limits: runners.Limits{Memory: limit, Timeout: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Status != runners.OutOfMemory || o.Usage.RunMS == 0 {
		t.Errorf("%+v", o)
	}
	if peak := o.Usage.PeakMemoryBytes; peak < limit/2 || peak > limit+beside {
		t.Errorf("the peak is said to be %d MiB", peak>>20)
	}
}

// TestClients wants the programs of two clients in two processes.
func TestClients(t *testing.T) {
	py, _ := open(t)
	dirs := map[string]bool{}
	for _, client := range []string{"a", "b", "a"} {
		o, err := py.Run(t.Context(), runners.Request{Language: runners.Python, Client: client, Code: "1"})
		if err != nil || o.Status != runners.Succeeded {
			t.Fatalf("%+v, %v", o, err)
		}
		for _, p := range workers(t) {
			dirs[strconv.Itoa(p.Pid)] = true
		}
	}
	if len(dirs) < 2 {
		t.Errorf("two clients had %d workers", len(dirs))
	}
}

// TestFirstCalls has a client begin with several programs at once, which share a worker.
func TestFirstCalls(t *testing.T) {
	py, _ := open(t)
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			o, err := py.Run(t.Context(), runners.Request{Language: runners.Python, Client: "several", Code: "1"})
			if err != nil || o.Status != runners.Succeeded {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	calls.Wait()
	if n := len(workers(t)); n > 2 {
		t.Errorf("%d workers, want one and a spare", n)
	}
}
