package pyodide

import (
	"context"
	"errors"
	"testing"

	"coderunner/pyodide/dylink"
)

// TestLibraryWaitEnds: who waits for a library that another interpreter loads
// waits no longer than its context.
func TestLibraryWaitEnds(t *testing.T) {
	var s sharedLibraries
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan error)
	var used []*sharedLibrary
	go func() {
		_, err := s.use(t.Context(), "a", &used, func() (*dylink.Library, int, error) {
			close(begun)
			<-end
			return &dylink.Library{}, 1, nil
		})
		done <- err
	}()
	<-begun
	why := errors.New("time limit")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := s.use(ctx, "a", new([]*sharedLibrary), nil); !errors.Is(err, why) {
		t.Errorf("the second: %v, want %v", err, why)
	}
	close(end)
	if err := <-done; err != nil || len(used) != 1 || used[0].users != 1 {
		t.Errorf("the first: %v, %+v", err, used)
	}
}
