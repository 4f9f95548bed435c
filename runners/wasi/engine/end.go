package engine

import (
	"context"
	"errors"
	"fmt"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/preview1"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dwarf"
)

// End is how a module ended.
type End struct {
	Code    int           // the exit status
	Trap    string        // what WebAssembly's checks found, "" if nothing
	Frames  []dwarf.Frame // the functions that it was in, innermost first
	Excerpt string        // the line of the first frame that has one, for people
	Memory  bool          // it trapped when it had no more memory
}

// aborted is the exit status of a process that a trap ended, as a shell shows SIGABRT.
const aborted = 128 + 6

// End returns how the module ended, by the error of its last call. What ends the process or
// all processes is done.
func (in *Instance) End(err error) End {
	var exit *preview1.Exit
	var output *memfs.OutputError
	switch {
	case err == nil:
		return End{}
	case errors.As(err, &exit):
		return End{Code: int(exit.Code & 0xff)}
	case errors.As(err, &output):
		in.k.Kernel().Fail(output)
		return End{Code: 1}
	case in.ctx.Err() != nil: // the kernel knows why
		return End{Code: 1}
	}
	trap := trapOf(err)
	if trap == "" {
		in.k.Kernel().Fail(err)
		return End{Code: 1}
	}
	if in.Refused() {
		return End{Code: aborted, Trap: trap, Memory: true}
	}
	return End{Code: aborted, Trap: trap, Frames: codestore.Trace(in.called, in.code.stub, in.debug)}
}

// Unsupported is the end of a module that asked for what there is not. It is a trap with a
// text of its own.
type Unsupported struct{ Text string }

func (e *Unsupported) Error() string { return e.Text }

// trapOf returns the trap's message, "" if err is not a trap.
func trapOf(err error) string {
	if no, ok := errors.AsType[*Unsupported](err); ok {
		return no.Text
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if fmt.Sprintf("%T", err) == "*wasmruntime.Error" { // which wazero does not export
			return err.Error()
		}
	}
	return ""
}

// Trace returns the trap, the functions that it was in and the line of it.
func (e End) Trace() string {
	text := e.Trap
	for _, f := range e.Frames {
		text += "\n    in " + f.Function
		if f.Line > 0 {
			text += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
		}
	}
	return text + e.Excerpt
}

// Finish tells on the process's standard error what a trap was, and ends it as one that
// SIGABRT ended, or, where it had no more memory, SIGKILL.
func (e End) Finish(ctx context.Context, p *kernel.Process, name string) int {
	const sigabrt = 6
	switch {
	case e.Memory:
		fmt.Fprintf(p.Stderr(ctx), "%s: out of memory\n", name)
		p.Die(kernel.SIGKILL)
	case e.Trap != "":
		fmt.Fprintf(p.Stderr(ctx), "%s: %s\n", name, e.Trace())
		p.Die(sigabrt)
	}
	return e.Code
}
