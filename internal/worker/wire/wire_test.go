//go:build unix

package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// options are those of a side that echoes, fails, waits or opens a file.
func options(t testing.TB) Options {
	return Options{
		TakesFiles:  true,
		EncodeError: func(err error) any { return err.Error() },
		DecodeError: func(b []byte) error { return errors.New(strings.Trim(string(b), `"`)) },
		Serve: func(ctx context.Context, method uint8, body []byte) (any, *os.File, error) {
			switch method {
			case 1:
				return Raw(body), nil, nil
			case 2:
				return nil, nil, errors.New("no")
			case 3:
				<-ctx.Done()
				return nil, nil, ctx.Err()
			case 4:
				name := filepath.Join(t.TempDir(), "file")
				if err := os.WriteFile(name, body, 0o600); err != nil {
					return nil, nil, err
				}
				f, err := os.Open(name)
				return "open", f, err
			}
			return nil, nil, errors.New("unknown")
		},
	}
}

func pair(t *testing.T, a, b Options) (*Conn, *Conn) {
	t.Helper()
	ours, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Socket(theirs)
	if err != nil {
		t.Fatal(err)
	}
	x, y := New(ours, a), New(other, b)
	x.Start()
	y.Start()
	t.Cleanup(func() { x.Close(); y.Close() })
	return x, y
}

func TestCalls(t *testing.T) {
	for _, size := range []int{0, 1, 1 << 10, 1 << 20, 5<<20 + 3} {
		x, y := pair(t, options(t), options(t))
		want := strings.Repeat("ab", size/2)
		for _, c := range []*Conn{x, y} {
			var got Raw
			if _, err := c.Call(t.Context(), 1, Raw(want), &got); err != nil || string(got) != want {
				t.Errorf("%d bytes: %d came back, %v", size, len(got), err)
			}
		}
	}
	x, _ := pair(t, options(t), options(t))
	if _, err := x.Call(t.Context(), 2, nil, nil); err == nil || err.Error() != "no" {
		t.Errorf("error = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := x.Call(ctx, 3, nil, nil); err == nil || err.Error() != context.Canceled.Error() {
		t.Errorf("a cancelled call: %v", err)
	}
	var said string
	f, err := x.Call(t.Context(), 4, Raw("contents"), &said)
	if err != nil || said != "open" || f == nil {
		t.Fatalf("%q, %v", said, err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "contents" {
		t.Errorf("the file has %q, %v", b, err)
	}
}

// TestParts has notes of several parts, short and long ones, arrive as one body.
func TestParts(t *testing.T) {
	arrived := make(chan string, 1)
	o := options(t)
	o.Note = func(_ uint8, body []byte, file *os.File) {
		if file != nil {
			file.Close()
		}
		arrived <- string(body)
	}
	x, _ := pair(t, options(t), o)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{0, 10, apart - 4, apart, 3 << 20} {
		for _, file := range []*os.File{nil, f} {
			long := strings.Repeat("x", size)
			if err := x.Note(1, Parts{[]byte("name"), nil, []byte(long)}, file); err != nil {
				t.Fatal(err)
			}
			if got := <-arrived; got != "name"+long {
				t.Errorf("%d bytes arrived of %d", len(got), size+4)
			}
		}
	}
}

// TestNoFiles has a side that takes no files get one.
func TestNoFiles(t *testing.T) {
	o := options(t)
	o.TakesFiles = false
	x, _ := pair(t, o, options(t))
	if _, err := x.Call(t.Context(), 4, Raw("contents"), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("error = %v", err)
	}
}

// TestTooMany has a side call more often than it may without taking answers.
func TestTooMany(t *testing.T) {
	x, y := pair(t, options(t), options(t))
	for range maxServing + 1 {
		go func() { _, _ = x.Call(t.Context(), 3, nil, nil) }()
	}
	<-y.Done()
	if testing.Short() {
		return // what follows is 270 MB
	}
	x, y = pair(t, options(t), options(t))
	for range 3 {
		go func() { _, _ = x.Call(t.Context(), 3, Raw(make([]byte, MaxBody/10*7)), nil) }()
	}
	<-y.Done()
}

// frame returns a frame with a length of its own.
func frame(kind, method, files uint8, id, length uint32, body string) []byte {
	b := make([]byte, headerSize)
	binary.LittleEndian.PutUint32(b, length)
	binary.LittleEndian.PutUint32(b[4:], id)
	b[8], b[9], b[10] = kind, method, files
	return append(b, body...)
}

// broken are what no honest side sends.
func broken() [][]byte {
	return [][]byte{
		frame(kindCall, 1, 0, 1, 1<<31, ""),
		frame(kindCall, 1, 1, 1, 0, ""),
		frame(kindCall, 1, 7, 1, 0, ""),
		frame(kindReply, 0, 0, 99, 0, ""),
		frame(kindError, 0, 0, 99, 0, ""),
		frame(kindNote, 1, 0, 0, 0, ""),
		frame(200, 1, 0, 1, 0, ""),
		append(frame(kindCall, 3, 0, 5, 0, ""), frame(kindCall, 3, 0, 5, 0, "")...),
	}
}

// TestBroken ends connections whose other side breaks the protocol.
func TestBroken(t *testing.T) {
	for i, b := range broken() {
		c, raw := alone(t)
		if _, err := raw.Write(b); err != nil {
			t.Fatal(err)
		}
		select {
		case <-c.Done():
		case <-t.Context().Done():
			t.Errorf("frame %d is taken", i)
		}
		raw.Close()
		c.Close()
	}
}

// alone returns a Conn and the bare socket of its other side.
func alone(t testing.TB) (*Conn, net.Conn) {
	ours, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Socket(theirs)
	if err != nil {
		t.Fatal(err)
	}
	c := New(ours, options(t))
	c.Start()
	return c, raw
}

// FuzzFrames sends bytes.
func FuzzFrames(f *testing.F) {
	for _, b := range broken() {
		f.Add(b)
	}
	f.Add(frame(kindCall, 1, 0, 1, 3, "abc"))
	f.Add(frame(kindCancel, 0, 0, 1, 0, ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, raw := alone(t)
		go func() { _, _ = io.Copy(io.Discard, raw) }()
		_, _ = raw.Write(b) // it may end before all is written
		raw.Close()
		<-c.Done()
		c.Close()
	})
}

// TestGoroutines: one call after another is served by the same goroutine, whose stack has grown.
func TestGoroutines(t *testing.T) {
	o := options(t)
	o.Serve = func(context.Context, uint8, []byte) (any, *os.File, error) {
		text := make([]byte, 64)
		name, _, _ := strings.Cut(string(text[:runtime.Stack(text, false)]), " [") // "goroutine 7"
		return name, nil, nil
	}
	x, _ := pair(t, options(t), o)
	const calls = 200
	names := map[string]bool{}
	for range calls {
		var name string
		if _, err := x.Call(t.Context(), 1, nil, &name); err != nil {
			t.Fatal(err)
		}
		names[name] = true
	}
	if len(names) > calls/2 { // one that has answered may not wait yet when the next call comes
		t.Errorf("%d calls were served by %d goroutines", calls, len(names))
	}
}
