package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/preview1"
)

// End is how a module ended.
type End struct {
	Code   int    // the exit status
	Trap   string // what WebAssembly's checks found, "" if nothing
	Frames []string
	Memory bool // it trapped when it had no more memory
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
	return End{Code: aborted, Trap: trap, Frames: frames(err)}
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

// maxFrames bounds the frames of a trap.
const maxFrames = 20

// frames returns the names of the functions that a trap was in, innermost first, where the
// module has names.
func frames(err error) (names []string) {
	_, trace, _ := strings.Cut(err.Error(), "wasm stack trace:")
	for line := range strings.Lines(trace) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), "(")
		name = strings.TrimPrefix(name, ".")
		if ok && name != "" && !strings.HasPrefix(name, "$") && len(names) < maxFrames {
			names = append(names, name)
		}
	}
	return names
}

// Trace returns the trap and the functions that it was in.
func (e End) Trace() string { return strings.Join(append([]string{e.Trap}, e.Frames...), "\n    in ") }

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
