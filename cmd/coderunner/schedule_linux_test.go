package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestServeInterruptsNobody looks at how the kernel schedules a server that was started with a
// policy and a niceness.
func TestServeInterruptsNobody(t *testing.T) {
	for name, how := range map[string]struct {
		policy uint32
		nice   int32
		want   uint32
	}{
		"usual":  {unix.SCHED_NORMAL, 5, unix.SCHED_BATCH},
		"chosen": {unix.SCHED_IDLE, 0, unix.SCHED_IDLE},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread() // what it starts has its policy; it ends with the test
			own := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: how.policy, Nice: how.nice}
			if err := unix.SchedSetAttr(0, &own, 0); err != nil {
				t.Fatal(err)
			}
			pid := serveWire(t, "CODE_RUNNER_OFFLINE=1").cmd.Process.Pid
			threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
			for _, thread := range threads {
				id, _ := strconv.Atoi(thread.Name())
				if a, err := unix.SchedGetAttr(id, 0); err == nil && (a.Policy != how.want || a.Nice != how.nice) {
					t.Errorf("a thread has the policy %d and the niceness %d", a.Policy, a.Nice)
				}
			}
		})
	}
}

// TestStdinPolled looks whether a server has opened its stdin anew, for Go to poll.
func TestStdinPolled(t *testing.T) {
	fds := fmt.Sprintf("/proc/%d/fd/", serveWire(t, "CODE_RUNNER_OFFLINE=1").cmd.Process.Pid)
	pipe, err := os.Readlink(fds + "0")
	if err != nil || !strings.HasPrefix(pipe, "pipe:") {
		t.Fatal(pipe, err)
	}
	files, _ := filepath.Glob(fds + "*")
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && to == pipe && file != fds+"0" {
			return
		}
	}
	t.Error("stdin is not opened anew")
}
