package pyodide

import (
	"context"
	"errors"

	"coderunner/internal/machine/abi"
)

// A program is parked in the middle of a call: its machine stack is dropped, its memory stays
// as it is, and it goes on there later, perhaps in another process, from a snapshot.
//
// That works because CPython keeps the frames of Python functions that call one another in
// linear memory, with their values and their places in the code. The machine stack has only
// one activation of its evaluation loop for all of them, below the call of a function of C:
// umask, with a mask that is none. Unpark calls the evaluation loop with the innermost frame,
// whose place is still the instruction that called umask. It is executed again, and this time
// umask returns. The loop is left through the frame that the first activation has on the stack
// in linear memory, so what Unpark gets is what the first call would have got.
//
// A program with other functions of C on its stack, such as sorted with a key in Python, has
// several activations of the loop, and C code that waits for their results. It is not parked,
// and umask says so.

// Of CPython 3.14: PyThreadState (Include/cpython/pystate.h) and _PyInterpreterFrame
// (Include/internal/pycore_interpframe_structs.h), in bytes.
const (
	stateRecursion = 32 // py_recursion_remaining
	stateFrame     = 52 // current_frame
	framePrevious  = 4
	frameOwner     = 36 // a word with return_offset, owner, visited
	ownerShift     = 16
	ownedByLoop    = 3 // FRAME_OWNED_BY_INTERPRETER: below the first frame of an activation
)

// maxFrames bounds the frames of a program that is parked: sys.setrecursionlimit may be high.
const maxFrames = 100_000

// parked is where a parked program goes on.
type parked struct {
	State  uint32 `json:"state"`  // the thread's
	Frame  uint32 `json:"frame"`  // the innermost
	Caller uint32 `json:"caller"` // the frame that called it
	Stack  uint32 `json:"stack"`  // the stack pointer, below the evaluation loop's own frame
	Bottom uint32 `json:"bottom"` // the stack pointer of the idle interpreter
}

// errParked unwinds a program that is parked.
var errParked = errors.New("the program is parked")

// park is umask with the mask that is none. It unwinds the program if that can be parked,
// and returns EBUSY if not, and OK in a program that goes on.
func (in *Interp) park() abi.Errno {
	if p := in.resuming; p != nil {
		in.resuming = nil
		return in.rejoin(p)
	}
	if in.parks == nil || !in.parks() || in.signals.struck.Load() || in.running.Err() != nil {
		return abi.EBUSY
	}
	if in.threads != nil && len(in.threads.alive) > 0 || in.linking.depth > 0 || len(in.instance.calls) != 1 {
		return abi.EBUSY
	}
	p := in.findPlace()
	_, unfit := in.proc.State() // as Snapshot finds it
	_, tooMuch := in.fs.State(Home)
	if p == nil || unfit != nil || tooMuch != nil {
		return abi.EBUSY
	}
	in.parked = p
	panic(errParked)
}

// findPlace returns where the running program could go on, nil if the machine stack has more
// of it than one activation of the evaluation loop.
func (in *Interp) findPlace() *parked {
	state, ok := in.mem.Uint32(in.compiled.module.info.Threads.Current)
	frame, ok1 := in.mem.Uint32(state + stateFrame)
	caller, ok2 := in.mem.Uint32(frame + framePrevious)
	p := &parked{State: state, Frame: frame, Caller: caller, Bottom: in.bottom}
	ok = ok && ok1 && ok2
	for range maxFrames {
		owner, ok1 := in.mem.Uint32(frame + frameOwner)
		previous, ok2 := in.mem.Uint32(frame + framePrevious)
		switch {
		case !ok || !ok1 || !ok2:
			return nil
		case owner>>ownerShift&0xff < ownedByLoop:
			frame = previous
			continue
		case previous != 0 || frame == p.Frame:
			return nil
		}
		p.Stack = frame &^ 15
		return p
	}
	return nil
}

// rejoin makes the innermost frame return to its caller again: the evaluation loop has put
// itself between the two, and counted the frame once more.
func (in *Interp) rejoin(p *parked) abi.Errno {
	left, ok := in.mem.Uint32(p.State + stateRecursion)
	if frame, ok1 := in.mem.Uint32(p.State + stateFrame); !ok || !ok1 || frame != p.Frame {
		return abi.EBUSY // the program has changed its memory
	}
	if !in.mem.PutUint32(p.State+stateRecursion, left+1) || !in.mem.PutUint32(p.Frame+framePrevious, p.Caller) {
		return abi.EFAULT
	}
	return abi.OK
}

// Unpark is Run of a program that was parked: it goes on where it was. Of the Program, only
// its limits and Parks count.
func (in *Interp) Unpark(ctx context.Context, p Program) (*Result, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	at := in.parked
	if in.closed || in.dead || in.spent || at == nil {
		return nil, errClosed
	}
	in.parked, in.resuming, in.bottom = nil, at, at.Bottom
	defer func() { in.resuming = nil }()
	return in.runLocked(ctx, p, p.request(nil).maxReport(), func(g guest) (report uint32, err error) {
		report, err = g.object("_PyEval_EvalFrameDefault", at.State, at.Frame, 0)
		if err == nil {
			err = in.setGlobal("__stack_pointer", at.Bottom)
		}
		return report, err
	})
}
