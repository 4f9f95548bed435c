package preview1

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/experimental/wazerotest"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/hostfn"
)

// guest is a process with a page of memory that is filled with "?".
type guest struct {
	*Process
	ctx  context.Context
	rows map[string]hostfn.Row
}

// call calls an import. It returns its errno, or the end that it asked for.
func (g guest) call(name string, args ...uint64) (errno abi.Errno, end any) {
	defer func() { end = recover() }()
	stack := append(make([]uint64, 0, 16), args...)
	g.rows[name].Fn(g.ctx, append(stack, 0)[:max(1, len(args))])
	return abi.Errno(stack[:1][0]), nil
}

// withGuest calls f in a process whose working directory is /home, with a file "file" in it.
func withGuest(t testing.TB, f func(g guest)) {
	t.Helper()
	fsys := memfs.New(memfs.Options{MaxBytes: 1 << 20, MaxNodes: 100})
	for _, err := range []error{fsys.MkdirAll("/home", 0o755), fsys.WriteFile("/home/file", []byte("contents"), 0o644), fsys.WriteFile("/secret", nil, 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	k, err := kernel.New(kernel.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	stdin := fsys.NewFile(memfs.NewInput(strings.NewReader("typed")), abi.O_RDONLY, abi.S_IFIFO|0o600)
	p, err := k.Main(kernel.Exec{Args: []string{"name", "arg"}, Env: []string{"A=b"}, Dir: "/home", Files: map[int]*memfs.File{0: stdin}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Run(t.Context(), func(ctx context.Context, p *kernel.Process) int {
		g := guest{rows: map[string]hostfn.Row{}}
		if g.Process, err = New(p); err != nil {
			t.Error(err)
			return 1
		}
		defer g.Close()
		memory := wazerotest.NewFixedMemory(1 << 16)
		for i := range memory.Bytes {
			memory.Bytes[i] = '?'
		}
		g.Attach(hostfn.NewMem(memory))
		for _, r := range Rows() {
			g.rows[r.Name] = r
		}
		g.ctx = g.Context(ctx)
		f(g)
		return 0
	})
	if err == nil {
		err = k.Failure()
	}
	if err != nil {
		t.Error(err)
	}
}

// wd is the descriptor of the working directory: "/" is 3, "/home" 4.
const wd = 5

func TestCalls(t *testing.T) {
	const a, b = 0x100, 0x200 // addresses
	const outside = 1<<16 - 2
	for _, c := range []struct {
		name string
		args []uint64
		put  string // at a
		want abi.Errno
		has  string // at b, afterwards
	}{
		{"args_sizes_get", []uint64{b, b + 4}, "", abi.OK, "\x02\x00\x00\x00\x09\x00\x00\x00?"},
		{"args_get", []uint64{a, b}, "", abi.OK, "name\x00arg\x00?"},
		{"args_get", []uint64{a, outside}, "", abi.EFAULT, "?"},
		{"environ_get", []uint64{a, b}, "", abi.OK, "A=b\x00?"},
		{"fd_prestat_get", []uint64{4, b}, "", abi.OK, "\x00\x00\x00\x00\x05\x00\x00\x00?"},
		{"fd_prestat_dir_name", []uint64{4, b, 5}, "", abi.OK, "/home?"},
		{"fd_prestat_dir_name", []uint64{4, b, 4}, "", abi.ENAMETOOLONG, "?"},
		{"fd_prestat_get", []uint64{wd + 1, b}, "", abi.EBADF, "?"},
		{"path_open", []uint64{wd, 0, a, 4, 0, rightRead, 0, 0, b}, "file", abi.OK, "\x06\x00\x00\x00?"},
		{"path_open", []uint64{wd, 0, a, 4, 0, rightRead, 0, 0, outside}, "file", abi.EFAULT, "?"},
		{"path_open", []uint64{4, 0, a, 9, 0, rightRead, 0, 0, b}, "../secret", abi.EPERM, "?"},
		{"path_open", []uint64{4, 0, a, 11, 0, rightRead, 0, 0, b}, "x/../../etc", abi.EPERM, "?"},
		{"path_open", []uint64{wd, 0, a, 9, 0, rightRead, 0, 0, b}, "../secret", abi.OK, "\x06\x00\x00\x00?"},
		{"path_open", []uint64{3, 0, a, 7, 0, rightRead, 0, 0, b}, "/secret", abi.EPERM, "?"},
		{"path_open", []uint64{3, 0, a, 7, 0, rightRead, 0, 0, b}, "se\x00cret", abi.EINVAL, "?"},
		{"path_open", []uint64{wd, 0, a, 1 << 15, 0, rightRead, 0, 0, b}, "", abi.ENAMETOOLONG, "?"},
		{"path_open", []uint64{0, 0, a, 4, 0, rightRead, 0, 0, b}, "file", abi.ENOTDIR, "?"},
		{"path_open", []uint64{wd, 0, outside, 4, 0, rightRead, 0, 0, b}, "", abi.EFAULT, "?"},
		{"path_filestat_get", []uint64{wd, 0, a, 4, b}, "gone", abi.ENOENT, "?"},
		{"fd_read", []uint64{0, a, 1, a + 8}, "\x00\x02\x00\x00\x05\x00\x00\x00", abi.OK, "typed?"},
		{"fd_read", []uint64{0, a, 1, a + 8}, "\x00\x02\x00\x00\xff\xff\xff\xff", abi.EFAULT, "?"},
		{"fd_read", []uint64{0, a, IovMax + 1, a + 8}, "", abi.EINVAL, "?"},
		{"fd_read", []uint64{99, a, 1, a + 8}, "", abi.EBADF, "?"},
		{"fd_renumber", []uint64{wd, 99}, "", abi.EBADF, "?"},
		{"poll_oneoff", []uint64{a, b, 0, a}, "", abi.EINVAL, "?"},
		{"poll_oneoff", []uint64{a, b, maxSubscriptions + 1, a}, "", abi.EINVAL, "?"},
		{"clock_time_get", []uint64{9, 0, b}, "", abi.EINVAL, "?"},
		{"random_get", []uint64{b, 1 << 20}, "", abi.EFAULT, "?"},
		{"sock_recv", []uint64{0, a, 1, 0, b, b}, "", abi.ENOTSOCK, "?"},
	} {
		withGuest(t, func(g guest) {
			g.mem.Put(a, []byte(c.put))
			errno, end := g.call(c.name, c.args...)
			if got, _ := g.mem.Bytes(b, uint32(len(c.has))); errno != c.want || end != nil || string(got) != c.has {
				t.Errorf("%s%v of %q = %v, %v with %q, want %v with %q", c.name, c.args, c.put, errno, end, got, c.want, c.has)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	withGuest(t, func(g guest) {
		var exit *Exit
		if _, end := g.call("proc_exit", 7); !errors.As(end.(error), &exit) || exit.Code != 7 {
			t.Errorf("proc_exit: %v", end)
		}
	})
	withGuest(t, func(g guest) {
		var stopped *Stopped
		const sigterm = 15
		if _, end := g.call("proc_raise", sigterm); end == nil || !errors.As(end.(error), &stopped) {
			t.Errorf("proc_raise: %v", end)
		}
	})
}

// FuzzCalls calls imports with anything: each answers or ends the process, and none touches
// what is outside of the memory.
func FuzzCalls(f *testing.F) {
	f.Add([]byte("seed"))
	f.Add(binary.LittleEndian.AppendUint64(nil, 0xfffffff0))
	for i := range 200 {
		b := make([]byte, 40)
		for j := range b {
			b[j] = byte(i*31 + j*i*7)
		}
		f.Add(b)
	}
	rows := Rows()
	f.Fuzz(func(t *testing.T, steps []byte) {
		withGuest(t, func(g guest) {
			g.mem.Put(0, steps)
			for n := 0; len(steps) > 0 && n < 50; n++ {
				r := rows[int(steps[0])%len(rows)]
				steps = steps[1:]
				args := make([]uint64, len(r.Params()))
				for i := range args {
					if len(steps) == 0 {
						break
					}
					switch v := uint64(steps[0]); v % 4 {
					case 0:
						args[i] = v / 4
					case 1:
						args[i] = 1<<16 - v/4
					case 2:
						args[i] = 1<<32 - v/4
					default:
						args[i] = v * 0x0101
					}
					steps = steps[1:]
				}
				cancel := func() {}
				if whole := g.ctx; r.Name == "poll_oneoff" { // it may wait for ever, or until the process ends
					g.ctx, cancel = context.WithTimeout(whole, time.Millisecond)
				}
				_, end := g.call(r.Name, args...)
				cancel()
				if end != nil {
					if _, ok := end.(error); !ok {
						t.Fatalf("%s%v panicked: %v", r.Name, args, end)
					}
					var exit *Exit
					var stopped *Stopped
					if err := end.(error); !errors.As(err, &exit) && !errors.As(err, &stopped) {
						t.Fatalf("%s%v panicked: %v", r.Name, args, err)
					}
					return
				}
			}
		})
	})
}
