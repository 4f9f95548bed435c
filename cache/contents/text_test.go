package contents

import "testing"

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 10189: "10 KiB", 1<<20 - 1: "1024 KiB", 95_582_008: "91 MiB",
		1<<30 - 1: "1024 MiB", 5 << 30: "5.0 GiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{"trees npm @deno+x": "trees npm @deno+x", "a\x1b[2Jb": `"a\x1b[2Jb"`, "ü": "ü", "a\u202eb": `"a\u202eb"`, `a"b`: `a"b`} {
		if got := Printable(s); got != want {
			t.Errorf("Printable(%q) = %s, want %s", s, got, want)
		}
	}
}
