package kernel

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/internal/machine/memfs"
)

// TestWatchMemory has a program take memory that it is not charged for: it is stopped with all
// others, and the reason is the memory limit.
func TestWatchMemory(t *testing.T) {
	k, err := New(Options{FS: memfs.New(memfs.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	main, err := k.Main(Exec{Path: "main", Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer k.End()
	const limit = 32 << 20
	stop := k.WatchMemory(limit)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var held [][]byte
	_, err = main.Run(ctx, func(ctx context.Context, _ *Process) int {
		for ctx.Err() == nil && len(held) < 1<<10 {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			held = append(held, b)
		}
		return 0
	})
	if !errors.Is(k.Failure(), ErrMemory) {
		t.Errorf("%v, %v after %d MiB", k.Failure(), err, len(held))
	}
	if peak := stop(); peak < limit || len(held) == 1<<10 {
		t.Errorf("it had %d MiB of %d", peak>>20, len(held))
	}
}

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
		stop := k.WatchMemory(32 << 20)
		_, err = p.Run(ctx, main)
		k.End()
		if stop(); err != nil {
			t.Error(err)
		}
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
		run(t, func(context.Context, *Process) int {
			var held [][]byte
			for len(over) == 0 && len(held) < 1<<10 {
				held = append(held, bytes.Repeat([]byte{1}, 1<<20))
			}
			return len(held) >> 10
		}, false, true)
	})
}
