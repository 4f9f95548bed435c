package emscripten

import (
	"context"
	"fmt"

	"coderunner/internal/machine/memfs"
	"coderunner/internal/preview1"
)

// Exit is the end that the program asked for.
type Exit struct{ Code int32 }

func (e *Exit) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// Abort is the end of a program whose runtime gave up: abort, or a failed
// assertion in C.
type Abort struct{ Text string }

func (e *Abort) Error() string { return "aborted: " + e.Text }

// OutputError is the end of a program whose output the host refused.
type OutputError = memfs.OutputError

// Stopped is the end of a program whose context was done while it waited in a
// host function. Err is the context's cause.
type Stopped = preview1.Stopped

// stop ends a program whose context is done.
func stop(ctx context.Context) { panic(&Stopped{Err: context.Cause(ctx)}) }
