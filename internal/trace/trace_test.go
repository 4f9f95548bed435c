package trace

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A viewer shows spans of one lane above one another, so they must not overlap otherwise.
func TestLanes(t *testing.T) {
	spans := func(at ...time.Duration) (list []span) {
		for i := 0; i < len(at); i += 2 {
			list = append(list, span{"", at[i] * time.Microsecond, at[i+1] * time.Microsecond})
		}
		return list
	}
	for _, tt := range []struct {
		spans []span
		lanes []int
	}{
		{spans(0, 10, 1, 4, 4, 10), []int{1, 1, 1}},
		{spans(4, 10, 0, 10, 2, 6), []int{1, 1, 2}}, // by their beginnings: 0-10, 2-6, 4-10
		{spans(0, 4, 2, 6, 3, 4, 7, 8), []int{1, 2, 1, 1}},
		{spans(0, 4, 1, 5, 2, 6), []int{1, 2, 3}},
	} {
		var lanes []int
		for _, e := range events(tt.spans) {
			lanes = append(lanes, e.Lane)
		}
		if diff := cmp.Diff(tt.lanes, lanes); diff != "" {
			t.Errorf("%v: -want +got:\n%s", tt.spans, diff)
		}
	}
}

// Without a trace there is nothing to record, and a span may end after the trace.
func TestOutsideOfATrace(t *testing.T) {
	Begin("before")()
	if err := Stop(); err != nil {
		t.Error(err)
	}
	if err := Start(filepath.Join(t.TempDir(), "trace.json")); err != nil {
		t.Fatal(err)
	}
	end := Begin("late")
	if err := Stop(); err != nil {
		t.Error(err)
	}
	end()
}
