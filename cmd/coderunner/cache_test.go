package main

import (
	"testing"
	"time"
)

func TestHumanAge(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Hour: "today", 23 * time.Hour: "today", 30 * time.Hour: "1 day", 72 * time.Hour: "3 days"} {
		if got := humanAge(d); got != want {
			t.Errorf("humanAge(%v) = %q, want %q", d, got, want)
		}
	}
}
