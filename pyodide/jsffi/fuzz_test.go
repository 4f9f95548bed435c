package jsffi

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/tetratelabs/wazero/experimental/wazerotest"

	"coderunner/pyodide/hostfn"
)

// FuzzCalls calls the functions with references and addresses that nobody gave
// out: each returns one of the values that there are, or throws, and writes
// nowhere but where it was told to.
func FuzzCalls(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07"))
	f.Add(bytes.Repeat([]byte{90, 255, 1, 0, 0, 128, 7}, 30))
	rows := Rows()
	f.Fuzz(func(t *testing.T, in []byte) {
		mem := wazerotest.NewFixedMemory(wazerotest.PageSize)
		before := bytes.Clone(mem.Bytes)
		raised := false
		ctx := NewContext(context.Background(), Host{
			Raise: func(context.Context, string) { raised = true },
			Mem:   hostfn.NewMem(mem),
		})
		for len(in) >= 9 {
			r := &rows[int(binary.LittleEndian.Uint16(in))%len(rows)]
			stack := make([]uint64, max(1, len(r.Params())))
			for i, kind := range r.Params() {
				stack[i] = binary.LittleEndian.Uint64(in[1:]) >> (8 * (i % 7))
				if kind == 0x7f {
					stack[i] = uint64(uint32(stack[i]))
				}
			}
			in = in[9:]
			args := append([]uint64(nil), stack...)
			raised = false
			if !returns(t, r, ctx, stack) {
				continue
			}
			if len(r.Results()) > 0 {
				switch v := stack[0]; v {
				case nullRef, errorRef, minusOne, 1<<32 - 1:
				default:
					t.Errorf("%s(%#x) = %#x", r.Name, args, v)
				}
			}
			after := mem.Bytes
			if r.Name == "handle_next_result_js" && args[1]+4 <= uint64(len(after)) {
				copy(after[args[1]:args[1]+4], before[args[1]:])
			}
			if !bytes.Equal(before, after) {
				t.Fatalf("%s(%#x) has written to memory", r.Name, args)
			}
			if r.Support == hostfn.Absent && len(r.Results()) == 0 && !raised {
				t.Errorf("%s(%#x) neither works nor fails", r.Name, args)
			}
		}
	})
}

// returns calls a function and says whether it came back, which those that
// throw do not.
func returns(t *testing.T, r *hostfn.Row, ctx context.Context, stack []uint64) (ok bool) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case *Thrown:
			ok = false
		default:
			t.Fatalf("%s panics: %v", r.Name, x)
		}
	}()
	r.Fn(ctx, stack)
	return true
}
