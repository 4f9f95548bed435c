package deno

import (
	"fmt"
	"syscall"
	"testing"

	"coderunner/runners"
)

// TestLastWords has what V8 and Rust say when they run out of memory, from
// one thread and from several at once.
func TestLastWords(t *testing.T) {
	const segment = "\n\n#\n# Fatal process out of memory: Worklist::Segment::Create\n#\n"
	for _, tt := range []struct{ name, words, stderr string }{
		{"V8", segment, ""},
		{"two threads", segment + segment, ""},
		{"interleaved", "\n\n#\n\n\n#\n# Fatal process out of memory: a\n# Fatal process out of memory: b\n#\n#", ""},
		{"after the program's", "mine\n" + segment + segment, "mine"},
		{"after an open line", "mine" + segment, "mine"},
		{"heap", "mine\n\n<--- Last few GCs --->\n\n[1:0x1] 10 ms: Mark-Compact\n\n<--- JS stacktrace --->\n\n\n#\n# Fatal JavaScript out of memory: Ineffective mark-compacts near heap limit\n#\n", "mine"},
		{"Rust", "# mine\n#\nmemory allocation of 4096 bytes failed\n", "# mine\n#"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &ending{signal: syscall.SIGTRAP.String()}
			o := &runners.Outcome{Stderr: tt.words}
			o.Stderr = e.died(o, func(s runners.Status, kind, format string, a ...any) {
				o.Status, o.Error = s, &runners.Error{Type: kind, Message: fmt.Sprintf(format, a...)}
			})
			if o.Status != runners.OutOfMemory || o.Stderr != tt.stderr {
				t.Errorf("status %s, stderr %q, want %q", o.Status, o.Stderr, tt.stderr)
			}
		})
	}
}
