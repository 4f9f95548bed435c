package python

import (
	"fmt"
	"testing"

	"coderunner/runners"
)

// TestMemoryError fills the memory up to some place near its end, which is
// another one each time: the error itself may need memory, too.
func TestMemoryError(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	for n := range 16 {
		code := fmt.Sprintf("first = bytearray(%d << 14)\na = []\nwhile True: a.append(bytearray(100000))", n)
		o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: code, Limits: runners.Limits{Memory: 128 << 20}})
		if err != nil || o.Status != runners.OutOfMemory {
			t.Errorf("%d: %+v, %v", n, o, err)
		}
	}
}
