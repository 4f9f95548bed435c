package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"coderunner/internal/testcache"
)

// TestServeInterruptsNobody looks at how the kernel schedules a server that has answered, and
// whether Go polls its stdin.
func TestServeInterruptsNobody(t *testing.T) {
	cmd := exec.Command(selfAs(t, "coderunner"), "serve")
	cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+testcache.Dir(), "CODE_RUNNER_OFFLINE=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	proc := fmt.Sprintf("/proc/%d/", cmd.Process.Pid)
	threads, _ := os.ReadDir(proc + "task")
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name())
		if a, err := unix.SchedGetAttr(id, 0); err == nil && a.Policy != unix.SCHED_BATCH {
			t.Errorf("a thread has the policy %d", a.Policy)
		}
	}
	pipe, err := os.Readlink(proc + "fd/0")
	if err != nil || !strings.HasPrefix(pipe, "pipe:") {
		t.Fatal(pipe, err)
	}
	files, _ := filepath.Glob(proc + "fd/*")
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && to == pipe && !strings.HasSuffix(file, "/0") {
			return
		}
	}
	t.Error("stdin is not opened anew")
}
