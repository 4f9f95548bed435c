package pyodide

import (
	"fmt"
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// Native stacks grow by copying, each to 50 MB, on the heap, and wazero does not say
// how far: it keeps them in a field of the function that is called. A thread is
// charged for those of its calls at the end of each turn. So what is not charged is
// at most what one thread grew in its turn, as before there were threads.

// charge reserves what the thread's native stacks take now. If that does not fit the
// program's memory, all threads are to end.
func (s *threads) charge(t *thread) {
	need := int64(threadCost)
	for _, f := range s.in.calls {
		need += nativeStack(f)
	}
	if need > t.charged && !s.in.fs.Reserve(need-t.charged) {
		s.fail(fmt.Errorf("the native stacks of %d threads: %w", len(s.alive)+1, errNoMemory))
		return
	}
	s.in.fs.Unreserve(max(0, t.charged-need))
	t.charged = need
}

// nativeStack returns how many bytes a function has for its calls' native stack.
func nativeStack(f api.Function) int64 {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return 0
	}
	stack := v.Elem().FieldByName("stack")
	if stack.Kind() != reflect.Slice {
		return 0
	}
	return int64(stack.Len())
}
