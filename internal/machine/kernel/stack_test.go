package kernel

import "testing"

func TestStack(t *testing.T) {
	var s Stack
	levels := 0
	for s.Enter(MaxStack / 8) {
		levels++
	}
	if levels != 8 {
		t.Errorf("%d levels fit, want 8", levels)
	}
	s.Leave(MaxStack / 8)
	if !s.Enter(MaxStack / 8) {
		t.Error("what was left cannot be entered again")
	}
	if s.Enter(1) {
		t.Error("a full stack was entered")
	}
}
