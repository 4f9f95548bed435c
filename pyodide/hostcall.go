package pyodide

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"coderunner/internal/machine/abi"
)

// hostDevice is where the guest's _coderunner.call asks the host. One open is
// one call: the request is written, [name, argument] in JSON and perhaps a new
// line and bytes, then the answer is read to its end, [true, value] or [false,
// message].
const hostDevice = "/dev/coderunner"

// Call is a function of the host that a program can call, as
// _coderunner.call(name, argument).
type Call struct {
	// Do receives the argument in JSON and returns a value to encode as JSON;
	// its error raises RuntimeError with the same text. It must return
	// when ctx ends. Other threads of the program run meanwhile, and may call it,
	// too.
	Do func(ctx context.Context, argument json.RawMessage) (any, error)

	// DoData is called instead of Do, if not nil, with the bytes of
	// _coderunner.call(name, argument, data), which it must not keep.
	DoData func(ctx context.Context, argument json.RawMessage, data []byte) (any, error)

	// MaxArgument bounds the argument and data in bytes; 0 means 4096. Decoded the
	// argument may take twenty times as much.
	MaxArgument int

	// Waits is set for calls that wait for the network. They stop the program's
	// clock, in total for at most Program.WaitLimit: then ctx ends with the
	// cause ErrWaitLimit, and the rest of the call is charged.
	Waits bool
}

// ErrWaitLimit is the cause of a call's context when Program.WaitLimit is used
// up.
var ErrWaitLimit = errors.New("the program has waited as long as it may")

const (
	defaultArgument = 4 << 10
	// callOverhead is the size of a request without its argument.
	callOverhead = 128
)

// stopping is the call by which the guest asks for time to make a traceback.
const stopping = "stopping"

// hostCall is one open of the device.
type hostCall struct {
	in      *Interp
	request []byte
	size    int           // of the request, which is dropped if it is too large
	answer  *bytes.Reader // nil until the first read
	held    int64         // bytes reserved for both
}

// maxRequest returns the maximum length of the request, by the call's name. The
// guest writes ["name", argument]; anything else has the default.
func (c *hostCall) maxRequest() int {
	head, ok := bytes.CutPrefix(c.request[:min(len(c.request), callOverhead)], []byte(`["`))
	if name, _, closed := bytes.Cut(head, []byte(`"`)); ok && closed {
		if most := cmp.Or(c.in.calls[string(name)].MaxArgument, ownCalls[string(name)].maxArgument); most > 0 {
			return most + callOverhead
		}
	}
	return defaultArgument + callOverhead
}

// Write takes all of p. A request that is too large is dropped: the answer is an
// error.
func (c *hostCall) Write(_ context.Context, p []byte, _ bool) (int, abi.Errno) {
	if c.answer != nil {
		return 0, abi.EINVAL
	}
	// The name comes first and decides the limit.
	for rest := p; len(rest) > 0; {
		part := rest[:min(len(rest), defaultArgument)]
		rest = rest[len(part):]
		c.size += len(part)
		if c.tooLarge() {
			c.request = nil
			c.reserve(0)
			continue
		}
		if need := c.size; need > cap(c.request) {
			size := min(max(need, 2*cap(c.request), 512), max(need, c.maxRequest()))
			if !c.reserve(int64(size)) {
				return 0, abi.ENOSPC
			}
			c.request = append(make([]byte, 0, size), c.request...)
		}
		c.request = append(c.request, part...)
	}
	return len(p), abi.OK
}

func (c *hostCall) tooLarge() bool {
	return c.size > defaultArgument+callOverhead && c.size > c.maxRequest()
}

// reserve changes the reservation to n bytes.
func (c *hostCall) reserve(n int64) bool {
	if n > c.held && !c.in.fs.Reserve(n-c.held) {
		return false
	}
	if n < c.held {
		c.in.fs.Unreserve(c.held - n)
	}
	c.held = n
	return true
}

func (c *hostCall) Read(ctx context.Context, p []byte, _ bool) (int, abi.Errno) {
	if c.answer == nil {
		b := c.perform(ctx)
		c.request = nil
		if !c.reserve(int64(cap(b))) {
			b = []byte(`[false,"the answer does not fit the memory limit"]`)
			c.reserve(0)
		}
		c.answer = bytes.NewReader(b)
	}
	n, _ := c.answer.Read(p) // only io.EOF, which is 0 and OK here
	return n, abi.OK
}

// Immediate marks its reads and writes as ones that do not wait: only Call.Do does,
// see dispatch.
func (c *hostCall) Immediate() {}

func (c *hostCall) Close() abi.Errno {
	c.reserve(0)
	return abi.OK
}

// perform performs the call and returns its answer.
func (c *hostCall) perform(ctx context.Context) []byte {
	var value any
	err := fmt.Errorf("the call has %d bytes, which is too long for it", c.size)
	if !c.tooLarge() {
		value, err = c.dispatch(ctx)
	}
	if err == nil {
		var b []byte
		if b, err = json.Marshal([]any{true, value}); err == nil {
			return b
		}
	}
	b, _ := json.Marshal([]any{false, err.Error()}) // two plain values: cannot fail
	return b
}

// dispatch performs the call by its name. The time is charged to the program
// unless the call waits for the network.
func (c *hostCall) dispatch(ctx context.Context) (value any, err error) {
	var call [3]json.RawMessage // an array: a slice would grow with the input
	var name string
	text, data, _ := bytes.Cut(c.request, []byte("\n"))
	if err := json.Unmarshal(text, &call); err != nil || call[1] == nil || call[2] != nil {
		return nil, errors.New("a call is [name, argument] in JSON")
	}
	if err := json.Unmarshal(call[0], &name); err != nil {
		return nil, errors.New("a call's name is a string")
	}
	if name == stopping {
		c.in.deadline.extend(tracebackGrace)
		return nil, nil
	}
	if c.in.running != nil && c.in.running.Err() != nil {
		// The guest looks at its flag now and then only: it must not make the
		// host work until it does.
		return nil, context.Cause(c.in.running)
	}
	if own, ok := ownCalls[name]; ok {
		do := func(ctx context.Context) { value, err = own.do(ctx, c.in.instance, call[1], data) }
		switch {
		case own.waits:
			c.in.proc.Wait(ctx, do)
		case own.computes:
			c.in.proc.Compute(ctx, do)
		default:
			do(ctx)
		}
		return value, err
	}
	f, ok := c.in.calls[name]
	if !ok {
		return nil, fmt.Errorf("the host offers no call %q", name)
	}
	aside := c.in.proc.Compute
	if f.Waits {
		aside = c.in.proc.Wait
		left, limited := c.in.deadline.pause()
		defer c.in.deadline.resume()
		if limited {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, left, ErrWaitLimit)
			defer cancel()
		}
	}
	aside(ctx, func(ctx context.Context) {
		if f.DoData != nil {
			value, err = f.DoData(ctx, call[1], data)
		} else {
			value, err = f.Do(ctx, call[1])
		}
	})
	return value, err
}
