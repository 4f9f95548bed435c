package pyodide

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/emscripten"
)

// askable is an interpreter without a guest, which answers calls.
func askable(memory int64) *Interp {
	fsys := memfs.New(memfs.Options{MaxBytes: memory})
	proc, err := emscripten.New(emscripten.Config{FS: fsys})
	if err != nil {
		panic(err)
	}
	return &Interp{
		instance: &instance{fs: fsys, proc: proc, deadline: never()},
		calls: map[string]Call{
			"echo": {MaxArgument: 1 << 20, Do: func(_ context.Context, arg json.RawMessage) (any, error) { return arg, nil }},
			"fail": {Do: func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("no\xff") }},
			"big":  {Do: func(context.Context, json.RawMessage) (any, error) { return bytes.Repeat([]byte("x"), 1<<20), nil }},
			"list": {MaxArgument: 64 << 10, Do: func(_ context.Context, arg json.RawMessage) (any, error) {
				var list []string
				return nil, json.Unmarshal(arg, &list)
			}},
		},
	}
}

// ask makes one call, in pieces of the given length, and gives the answer.
func ask(t *testing.T, in *Interp, request []byte, piece int) ([]byte, abi.Errno) {
	t.Helper()
	ctx := context.Background()
	s, e := in.device()
	if e != abi.OK {
		t.Fatal(e)
	}
	defer s.Close()
	for len(request) > 0 {
		n, e := s.Write(ctx, request[:min(piece, len(request))], false)
		if e != abi.OK {
			return nil, e
		}
		request = request[n:]
	}
	var out []byte
	buf := make([]byte, piece)
	for {
		n, e := s.Read(ctx, buf, false)
		if e != abi.OK {
			return nil, e
		}
		if n == 0 {
			return out, abi.OK
		}
		out = append(out, buf[:n]...)
	}
}

func TestHostCallMemory(t *testing.T) {
	const memory = 1 << 20
	in := askable(memory)
	small := askable(64 << 10)
	if _, e := ask(t, small, append([]byte(`["echo","`), bytes.Repeat([]byte("x"), 100<<10)...), 4096); e != abi.ENOSPC {
		t.Errorf("a request beyond the cap: %v, want ENOSPC", e)
	}
	if out, e := ask(t, in, []byte(`["big",null]`), 4096); e != abi.OK || !bytes.Contains(out, []byte("memory limit")) {
		t.Errorf("an answer beyond the cap: %.60q, %v", out, e)
	}
	var open []memfs.Stream
	for range 100 {
		s, _ := in.device()
		s.Write(context.Background(), append([]byte(`["echo","`), make([]byte, 64<<10)...), false)
		open = append(open, s)
	}
	if held, _ := in.fs.Usage(); held > memory || held < memory/2 {
		t.Errorf("requests hold %d bytes, %d are allowed", held, memory)
	}
	for _, s := range open {
		s.Close()
	}
	if held, _ := in.fs.Usage(); held != 0 {
		t.Errorf("%d bytes are held after all was closed", held)
	}
}

// TestHostCallTooLarge makes calls that would take much memory to decode: the
// host allocates nothing for them.
func TestHostCallTooLarge(t *testing.T) {
	in := askable(256 << 20)
	for _, start := range []string{`["list",[`, `["echo",[`, `["nobody",[`, ` ["list",[`, `[["list"],[`, `{`} {
		request := append([]byte(start), bytes.Repeat([]byte(`"",`), 5<<20)...)
		request = append(request, `""]]`...)
		for _, piece := range []int{1 << 30, 1000} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, e := ask(t, in, request, min(piece, len(request)))
			runtime.ReadMemStats(&after)
			if e != abi.OK || !bytes.Contains(out, []byte("too long")) {
				t.Errorf("%s: %.60q, %v", start, out, e)
			}
			// ask itself has a buffer of a piece.
			if took := int64(after.TotalAlloc-before.TotalAlloc) - int64(min(piece, len(request))); took > 4<<20 {
				t.Errorf("%s in pieces of %d: the host allocated %d KiB", start, piece, took>>10)
			}
		}
	}
}

// FuzzHostCall writes any request in pieces of any length: there is always an
// answer, and nothing is held after it.
func FuzzHostCall(f *testing.F) {
	for _, s := range []string{`["echo",{"a":[1,2]}]`, `["fail",null]`, `["list",["a"]]`, `["stopping",null]`, `["echo",1,2]`, `["echo"]`, `[[],[]]`, "[", `{"a":1}`, "null"} {
		f.Add([]byte(s), uint16(7))
	}
	f.Fuzz(func(t *testing.T, request []byte, piece uint16) {
		const memory = 1 << 20
		in := askable(memory)
		out, e := ask(t, in, request, 1+int(piece))
		if held, _ := in.fs.Usage(); held != 0 {
			t.Errorf("%d bytes are held in the end", held)
		}
		if e != abi.OK {
			if len(request) < memory/4 {
				t.Errorf("%q: %v", request, e)
			}
			return
		}
		var answer []json.RawMessage
		var good bool
		if err := json.Unmarshal(out, &answer); err != nil || len(answer) != 2 || json.Unmarshal(answer[0], &good) != nil {
			t.Errorf("%q is answered with %q", request, out)
		}
		var why string
		if !good && (json.Unmarshal(answer[1], &why) != nil || why == "") {
			t.Errorf("%q fails with %q", request, out)
		}
	})
}
