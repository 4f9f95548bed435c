package kernel

import (
	"context"
	"testing"
	"testing/synctest"

	"coderunner/internal/machine/memfs"
)

// TestOverrun has programs go on that were told to end, as the main process, as what that left
// behind, and with more memory: whoever can end the host's process is told.
func TestOverrun(t *testing.T) {
	over := make(chan bool, 1)
	ignores := func(context.Context, *Process) int { over <- <-over; return 0 }
	run := func(t *testing.T, main Program, cancelled, memory bool) {
		k, err := New(Options{FS: memfs.New(memfs.Options{}), Overrun: func(memory bool) { over <- memory }})
		if err != nil {
			t.Fatal(err)
		}
		p, err := k.Main(Exec{Path: "main", Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if cancelled {
			cancel()
		}
		if _, err := p.Run(ctx, main); err != nil {
			t.Error(err)
		}
		k.End()
		select {
		case got := <-over:
			if got != memory {
				t.Errorf("memory: %v", got)
			}
		default:
			t.Error("nobody was told")
		}
	}
	bubble := func(name string, main Program, cancelled bool) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over = make(chan bool, 1)
				run(t, main, cancelled, false)
			})
		})
	}
	bubble("cancelled", ignores, true)
	bubble("left", func(_ context.Context, p *Process) int {
		if _, err := p.Start(Exec{Path: "ignores", Program: ignores}); err != nil {
			t.Error(err)
		}
		return 0
	}, false)
	t.Run("memory", func(t *testing.T) {
		over = make(chan bool, 1)
		run(t, func(_ context.Context, p *Process) int {
			p.k.OverMemory(false)
			p.k.OverMemory(true)
			return 0
		}, false, true)
	})
}
