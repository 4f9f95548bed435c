package bash_test

import (
	"testing"

	"coderunner/runners"
)

// BenchmarkTrue is a run of true, with its file system and process table.
func BenchmarkTrue(b *testing.B) {
	r := newRunner(b)
	for b.Loop() {
		if o, err := r.Run(b.Context(), runners.Request{Language: runners.Bash, Code: "true"}); err != nil || o.Status != runners.Succeeded {
			b.Fatal(o, err)
		}
	}
}
