package builder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"coderunner/cache"

	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o Options) *Builder {
	t.Helper()
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o.Cache, o.Kind, o.Log = c, "thing", zap.NewNop()
	b := New(o)
	t.Cleanup(func() {
		b.Close()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// entry builds an entry of so many bytes in the cache.
func entry(b *Builder, key string, size int) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.o.Cache.File(ctx, b.o.Kind, key, func(_ context.Context, w io.Writer) error {
			_, err := w.Write(make([]byte, size))
			return err
		})
		return err
	}
}

// TestStart wants builds to run one at a time, once for each key, and not for
// keys that were given up.
func TestStart(t *testing.T) {
	b := open(t, Options{MaxEntries: 10, MaxBytes: 1 << 20, MaxFailures: 2})
	synctest.Test(t, func(t *testing.T) {
		b := New(b.o)
		defer b.Close()
		gate, running, ran := make(chan struct{}), 0, 0
		build := func(context.Context) error {
			if running++; running > 1 {
				t.Error("two are built at a time")
			}
			<-gate
			running--
			ran++
			return errors.New("fails")
		}
		if !b.Start("a", build) || b.Start("a", build) || !b.Start("b", build) || !b.Building("a") {
			t.Error("each key is to be built once")
		}
		gate <- struct{}{}
		gate <- struct{}{}
		synctest.Wait()
		if b.Failed("a") || b.Building("a") || !b.Start("a", build) {
			t.Error("after one failure it may be built again")
		}
		gate <- struct{}{}
		synctest.Wait()
		if !b.Failed("a") || b.Start("a", build) || ran != 3 {
			t.Errorf("after two failures it is given up; %d builds", ran)
		}
		for i := range maxWaiting {
			b.Start(fmt.Sprint(i), build)
		}
		if b.Start("one too many", build) {
			t.Error("too much to do is done")
		}
		close(gate)
	})
}

// TestClose wants that what waits does not begin, and that what runs is told.
func TestClose(t *testing.T) {
	o := open(t, Options{MaxEntries: 1, MaxBytes: 1, MaxFailures: 1}).o
	synctest.Test(t, func(t *testing.T) {
		b := New(o)
		b.Start("runs", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		synctest.Wait()
		b.Start("waits", func(context.Context) error { t.Error("it began"); return nil })
		b.Close()
		if b.Failed("runs") || b.Start("later", nil) {
			t.Error("what was stopped has not failed; nothing begins after Close")
		}
	})
}

// TestWait wants what was started to come to its end.
func TestWait(t *testing.T) {
	o := open(t, Options{MaxEntries: 1, MaxBytes: 1, MaxFailures: 1}).o
	synctest.Test(t, func(t *testing.T) {
		b, ended := New(o), 0
		defer b.Close()
		for i := range 3 {
			b.Start(fmt.Sprint(i), func(ctx context.Context) error { ended++; return errors.New("x") })
		}
		b.Wait()
		if ended != 3 {
			t.Errorf("%d of 3 builds ended", ended)
		}
	})
}

// TestTrim wants the bounds on disk kept, the newest entries staying, and other
// kinds left alone.
func TestTrim(t *testing.T) {
	b := open(t, Options{MaxEntries: 3, MaxBytes: 2500, MaxFailures: 1})
	if _, err := b.o.Cache.File(t.Context(), "other", "x", func(_ context.Context, w io.Writer) error { _, err := w.Write(make([]byte, 5000)); return err }); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		key := fmt.Sprint("k", i)
		if err := b.Build(t.Context(), key, entry(b, key, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := b.o.Cache.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	things, others, last := 0, 0, false
	for _, e := range all {
		if e.Kind == "thing" {
			things++
			last = last || e.Key == "k5"
		} else {
			others++
		}
	}
	if things == 0 || things > 2 || others != 1 || !last {
		t.Errorf("%d are left, of others %d, the newest: %t; want 2, 1 and true", things, others, last)
	}
}

// TestWanted has another builder on the same cache remember.
func TestWanted(t *testing.T) {
	b := open(t, Options{MaxFailures: 1})
	other := New(b.o)
	defer other.Close()
	if b.Wanted(t.Context(), "a") || !other.Wanted(t.Context(), "a") || other.Noted(t.Context(), "unfit", "a") {
		t.Error("the second one to want it is the second in all processes")
	}
}
