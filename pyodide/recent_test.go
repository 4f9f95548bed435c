package pyodide

import "testing"

// TestRecent: what is used stays, and the rest is bounded.
func TestRecent(t *testing.T) {
	r := recent[int, string]{limit: 10}
	r.put(-1, "used")
	for i := range 1000 {
		r.put(i, "once")
		if v, ok := r.get(-1); !ok || v != "used" {
			t.Fatalf("get(-1) after %d others = %q, %v", i+1, v, ok)
		}
		if n := len(r.new) + len(r.old); n > 2*r.limit {
			t.Fatalf("%d values kept, want %d at most", n, 2*r.limit)
		}
	}
	if _, ok := r.get(0); ok {
		t.Error("a value that was not used for long is still there")
	}
}
