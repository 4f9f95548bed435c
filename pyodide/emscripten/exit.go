package emscripten

import "fmt"

// Exit is the end that the program asked for.
type Exit struct{ Code int32 }

func (e *Exit) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// Abort is the end of a program whose runtime gave up: abort, or a failed
// assertion in C.
type Abort struct{ Text string }

func (e *Abort) Error() string { return "aborted: " + e.Text }

// OutputError is the end of a program whose output the host refused.
type OutputError struct {
	Stream string // "stdout" or "stderr"
	Err    error
}

func (e *OutputError) Error() string { return "write " + e.Stream + ": " + e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// Stopped is the end of a program whose context was done while it waited in a
// host function. Err is the context's cause.
type Stopped struct{ Err error }

func (e *Stopped) Error() string { return "stopped: " + e.Err.Error() }
func (e *Stopped) Unwrap() error { return e.Err }

// doExit is exit(3) and proc_exit. Emscripten's exit runs atexit handlers and
// flushes C's streams; CPython has done that by the time it calls exit, and
// the interpreter is thrown away.
func doExit(c call) { panic(&Exit{c.i32(0)}) }

func doAbort(c call) { panic(&Abort{"abort called"}) }

func doAssertFail(c call) {
	text := func(i int) string {
		s, _, ok := c.mem.CString(c.u32(i), 1024)
		if !ok {
			return "?"
		}
		return s
	}
	panic(&Abort{fmt.Sprintf("assertion failed: %s, at %s:%d in %s", text(0), text(1), c.i32(2), text(3))})
}
