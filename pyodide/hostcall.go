package pyodide

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// hostDevice is where the guest's _coderunner.call asks the host. One open is
// one call: the request is written, [name, argument] in JSON, then the answer
// is read to its end, [true, value] or [false, message].
const hostDevice = "/dev/coderunner"

// maxRequest bounds a request in bytes, maxImports one for imports: parsed it
// takes many times as much. Requests and answers that are held count as the
// program's memory.
const (
	maxRequest = 16 << 20
	maxImports = 1 << 20
)

// hostCall is one open of the device.
type hostCall struct {
	in      *Interp
	request []byte
	answer  *bytes.Reader // nil until the first read
	held    int64         // bytes reserved for both
}

func (in *Interp) openHostDevice(uint32) (memfs.Stream, abi.Errno) {
	return &hostCall{in: in}, abi.OK
}

func (c *hostCall) Write(_ context.Context, p []byte, _ bool) (int, abi.Errno) {
	if c.answer != nil {
		return 0, abi.EINVAL
	}
	if len(c.request)+len(p) > maxRequest {
		return 0, abi.EFBIG
	}
	if need := len(c.request) + len(p); need > cap(c.request) {
		size := max(need, 2*cap(c.request), 512)
		if !c.reserve(int64(size)) {
			return 0, abi.ENOSPC
		}
		c.request = append(make([]byte, 0, size), c.request...)
	}
	c.request = append(c.request, p...)
	return len(p), abi.OK
}

// reserve makes n what is reserved.
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
		b := c.in.answer(ctx, c.request)
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

func (c *hostCall) Close() abi.Errno {
	c.reserve(0)
	return abi.OK
}

// answer performs a call and encodes what it gave.
func (in *Interp) answer(ctx context.Context, req []byte) []byte {
	value, err := in.dispatch(ctx, req)
	if err == nil {
		var b []byte
		if b, err = json.Marshal([]any{true, value}); err == nil {
			return b
		}
	}
	b, _ := json.Marshal([]any{false, err.Error()}) // two plain values: cannot fail
	return b
}

// dispatch finds who performs a call. The time it takes is not the program's,
// whose clock stands still meanwhile.
func (in *Interp) dispatch(ctx context.Context, req []byte) (any, error) {
	var call [3]json.RawMessage // a slice would grow to whatever there is
	var name string
	if err := json.Unmarshal(req, &call); err != nil || call[1] == nil || call[2] != nil {
		return nil, fmt.Errorf("a call is [name, argument] in JSON")
	}
	if err := json.Unmarshal(call[0], &name); err != nil {
		return nil, fmt.Errorf("a call's name is a string")
	}
	switch name {
	case "stopping":
		in.deadline.extend(tracebackGrace)
		return nil, nil
	case "imports":
		return nil, in.imports(ctx, call[1])
	}
	f := in.calls[name]
	if f == nil {
		return nil, fmt.Errorf("the host offers no call %q", name)
	}
	in.deadline.pause()
	defer in.deadline.resume()
	return f(ctx, call[1])
}

// imports performs the call that Program.Imports answers. Its error ends the
// run, so the guest does not get to see it.
func (in *Interp) imports(ctx context.Context, arg json.RawMessage) error {
	if len(arg) > maxImports {
		return fmt.Errorf("imports of %d bytes, at most %d are possible", len(arg), maxImports)
	}
	var triples [][3]json.RawMessage
	if err := json.Unmarshal(arg, &triples); err != nil {
		return fmt.Errorf("imports are a list of triples: %w", err)
	}
	wanted := make([]Import, len(triples))
	for i, t := range triples {
		w := &wanted[i]
		if json.Unmarshal(t[0], &w.Name) != nil || json.Unmarshal(t[1], &w.Optional) != nil || json.Unmarshal(t[2], &w.Present) != nil {
			return fmt.Errorf("an import is a name and two booleans")
		}
	}
	hook := in.takeImports()
	if hook == nil {
		return fmt.Errorf("imports are asked for once")
	}
	in.deadline.pause()
	defer in.deadline.resume()
	if err := hook(ctx, wanted); err != nil {
		in.importsErr = err
		return err
	}
	return nil
}
