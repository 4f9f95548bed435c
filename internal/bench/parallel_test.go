package main

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestInParallel(t *testing.T) {
	var at, most atomic.Int32
	b := inParallel(100, 4, []string{"python", "typescript"}, func(n int, language string) (string, error) {
		most.Store(max(most.Load(), at.Add(1)))
		defer at.Add(-1)
		switch n {
		case 10:
			return "", errors.New("no")
		case 12:
			return "marker 11\n", nil
		case 13:
			return "", nil
		}
		return fmt.Sprintf("marker %d\n", n), nil
	})
	if b.Runs["python"] != 48 || b.Runs["typescript"] != 49 || b.Failed != 3 || b.Crossed != 1 || b.total() != 100 {
		t.Errorf("%+v", b)
	}
	if most.Load() > 4 {
		t.Errorf("%d at once", most.Load())
	}
	if err := b.err(); !errors.Is(err, errWrong) {
		t.Error(err)
	}
	if got := (sample{Wall: 2 * time.Second, Batch: b}).rate("python"); got != 24 {
		t.Errorf("a rate of %v", got)
	}
}

func TestWriteBatches(t *testing.T) {
	good := func(n int) *batch { return &batch{Runs: map[string]int{"python": n}} }
	res := &result{benchCase: &benchCase{topic: "parallel", name: "python", title: "runs"}, rows: []*row{
		{contender: "a", role: ours, samples: []sample{{Wall: time.Second, Batch: good(300)}}},
		{contender: "b", role: peer, samples: []sample{{Wall: 2 * time.Second, Batch: good(300)}}},
		{contender: "c", role: peer, err: fmt.Errorf("find c: %w", errAbsent)},
	}}
	var out strings.Builder
	if err := writeParallel(&out, []*result{res}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"python: a   300       0        0       300             -                2.00", "python: c  absent: find c"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestWriteLive(t *testing.T) {
	res := &result{benchCase: &benchCase{topic: "live", name: "memory", title: "memory"}, rows: []*row{
		{contender: "a", role: ours, samples: []sample{{Wall: time.Millisecond, Bytes: 1 << 19}}},
		{contender: "b", role: peer, samples: []sample{{Wall: time.Millisecond, Bytes: 1 << 20}}},
		{contender: "c", role: another, err: errors.New("no c")},
	}}
	var out strings.Builder
	if err := writeLive(&out, res); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a      0.50     1.00                  0.50", "c  failed: no c"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
