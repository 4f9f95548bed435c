package ending

import (
	"bytes"
	"strings"
	"testing"
)

// What a program prints to stderr is passed on at once. What may be the
// runtime's is passed on when the outcome has left it in stderr.
func TestHeld(t *testing.T) {
	for _, tt := range []struct {
		writes               []string
		atOnce, stderr, want string
	}{
		{[]string{"a", "b: "}, "ab: ", "ab: ", "ab: "},
		{[]string{"a\ner", "rand\n"}, "a\nerrand\n", "", "a\nerrand\n"},
		{[]string{"a\n", "err", "or: ", "Uncaught Error: x\n    at y\n"}, "a\n", "a\n", "a\n"},
		{[]string{"error: Uncaught mine\nb\n", "error: Uncaught Error: x\n"}, "error: Uncaught mine\nb\n", "error: Uncaught mine\nb\n", "error: Uncaught mine\nb\n"},
		{[]string{"error: Uncaught mine\nb\n"}, "", "error: Uncaught mine\nb\n", "error: Uncaught mine\nb\n"},
		{[]string{"a\nerror: Uncaught (in worker \"\") Error: x\n  at y\n    ^\n    at z\nb\n", "error: Uncaught Error: y\n"}, "a\n", "a\nb\n", "a\nb\n"},
		{[]string{"a? ", "error: Top-level await promise never resolved\n  code\n"}, "a? ", "a? ", "a? "},
		{[]string{"a\n<--- Last few GCs --->\nx\n"}, "a\n", "a", "a\n"},
		{[]string{"error: " + strings.Repeat("x", 2*maxHeld)}, "error: " + strings.Repeat("x", 2*maxHeld), "", "error: " + strings.Repeat("x", 2*maxHeld)},
	} {
		var got bytes.Buffer
		h := held{w: &got}
		for _, text := range tt.writes {
			if _, err := h.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != tt.atOnce {
			t.Errorf("%.60q: passed on %.60q, want %.60q", tt.writes, got.String(), tt.atOnce)
		}
		if h.release(tt.stderr, (&Ending{Workers: true, Threads: true}).withoutWorkers); got.String() != tt.want {
			t.Errorf("%.60q: at the end %.60q, want %.60q", tt.writes, got.String(), tt.want)
		}
	}
}
