package process

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"coderunner/internal/sandbox"

	"go.uber.org/goleak"
)

// threadsVariable has a test binary make threads instead of testing.
const threadsVariable = "CODERUNNER_PROCESS_TEST_THREADS"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(threadsVariable)); err == nil {
		makeThreads(n)
		os.Exit(0)
	}
	if how := os.Getenv(fillVariable); how != "" {
		fillAndWait(how)
	}
	goleak.VerifyTestMain(m)
}

// makeThreads has so many threads until its stdin ends, and somewhat longer.
func makeThreads(n int) {
	end := make(chan struct{})
	for range n {
		begun := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(begun)
			<-end
		}()
		<-begun
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	<-time.After(2 * watchInterval) // for somebody to look
}

// TestThreads has many threads in a process that is confined as Deno is, and
// as many as Deno makes itself.
func TestThreads(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		threads int
		killed  Stop
	}{{MaxThreads / 2, ""}, {MaxThreads + 100, StopThreads}} {
		dir := t.TempDir()
		p, err := Start(Command{Path: self, Dir: dir, Env: []string{fmt.Sprintf("%s=%d", threadsVariable, tt.threads)},
			Spec: &sandbox.Spec{Execute: []string{self}, Write: []string{dir}}, Group: true})
		if err != nil {
			t.Fatal(err)
		}
		var watcher, readers sync.WaitGroup
		watcher.Go(func() { p.Watch(t.Context(), dir) })
		out := &bytes.Buffer{}
		readers.Go(func() { p.Copy(out, p.Stdout) })
		readers.Go(func() { p.Copy(os.Stderr, p.Stderr) })
		if tt.killed == "" {
			p.Stdin.Close()
		}
		p.Wait(&readers)
		watcher.Wait()
		if p.Stopped() != tt.killed {
			t.Errorf("%d threads: killed %q, want %q; it said %q", tt.threads, p.Stopped(), tt.killed, out)
		}
	}
}
