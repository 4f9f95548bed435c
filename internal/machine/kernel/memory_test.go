package kernel

import (
	"context"
	"errors"
	"testing"
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
