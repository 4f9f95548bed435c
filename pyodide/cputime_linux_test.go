package pyodide_test

import (
	"context"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// TestWaitingThreads has programs wait for their input: none of them needs a thread of the system
// meanwhile.
func TestWaitingThreads(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	count := func() int {
		list, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	const programs = 12
	var all sync.WaitGroup
	defer all.Wait()
	before := count()
	for range programs {
		in, input := io.Pipe()
		defer input.Close()
		asks := make(chan struct{})
		p, err := rt.New(t.Context(), pyodide.Options{Stdin: in, Stdout: tellingWriter{asks}, Stderr: os.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer p.Close()
			if _, err := p.Run(context.Background(), pyodide.Program{Code: "print('?')\ninput()"}); err != nil {
				t.Error(err)
			}
		})
		<-asks
	}
	for began := time.Now(); count()-before > programs/2; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%d threads for %d programs that wait", count()-before, programs)
		}
	}
}

// tellingWriter closes a channel when something is written.
type tellingWriter struct{ told chan struct{} }

func (w tellingWriter) Write(p []byte) (int, error) {
	select {
	case <-w.told:
	default:
		close(w.told)
	}
	return len(p), nil
}
