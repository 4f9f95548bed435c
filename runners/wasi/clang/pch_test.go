package clang

import (
	"strings"
	"testing"
)

// TestVariant has flags that a precompiled header goes with, and others.
func TestVariant(t *testing.T) {
	for flags, want := range map[string]string{
		"": "-std=gnu++17 -O0", "-c -O2 -Wall -std=c++20": "-std=c++20 -O2", "-O -Iinclude": "-std=gnu++17 -O1",
		"-E": "", "-g -c": "", "-DN=1": "", "-std=c++11": "", "-I": "", "-MMD": "",
	} {
		if got := strings.Join(variant(strings.Fields(flags)), " "); got != want {
			t.Errorf("%q: %q, want %q", flags, got, want)
		}
	}
}
