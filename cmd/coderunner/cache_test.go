package main

import (
	"testing"
	"time"
)

func TestHumanSizes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 10189: "10 KiB", 1<<20 - 1: "1.0 MiB", 95_582_008: "91 MiB",
		1<<30 - 1: "1.0 GiB", 5 << 30: "5.0 GiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := humanSize(n); got != want {
			t.Errorf("humanSize(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-time.Hour: "today", 23 * time.Hour: "today", 30 * time.Hour: "1 day", 72 * time.Hour: "3 days"} {
		if got := humanAge(d); got != want {
			t.Errorf("humanAge(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{"trees npm @deno+x": "trees npm @deno+x", "a\x1b[2Jb": `"a\x1b[2Jb"`, "ü": "ü", "a\u202eb": `"a\u202eb"`, `a"b`: `a"b`} {
		if got := printable(s); got != want {
			t.Errorf("printable(%q) = %s, want %s", s, got, want)
		}
	}
}
