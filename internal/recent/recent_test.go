package recent

import "testing"

// TestMap: what is used stays, and the rest is bounded.
func TestMap(t *testing.T) {
	var m Map[int, string]
	m.Put(-1, "used")
	for i := range 10 * limit {
		m.Put(i, "once")
		if v, ok := m.Get(-1); !ok || v != "used" {
			t.Fatalf("Get(-1) after %d others = %q, %v", i+1, v, ok)
		}
		if n := len(m.new) + len(m.old); n > 2*limit {
			t.Fatalf("%d values kept, want %d at most", n, 2*limit)
		}
	}
	if _, ok := m.Get(0); ok {
		t.Error("a value that was not used for long is still there")
	}
}

// TestWeigh: large values are fewer.
func TestWeigh(t *testing.T) {
	m := Map[int, string]{Weigh: func(string) int { return maxWeights / 8 }}
	for i := range 100 {
		m.Put(i, "large")
		if n := len(m.new) + len(m.old); n > 16 {
			t.Fatalf("%d values kept, want 16 at most", n)
		}
	}
}

func TestUpdate(t *testing.T) {
	var m Map[int, int]
	for want := 1; want < 3*limit; want++ {
		if got := m.Update(0, func(n int) int { return n + 1 }); got != want {
			t.Fatalf("Update = %d, want %d", got, want)
		}
		m.Put(want, 0)
	}
}
