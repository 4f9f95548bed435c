package emscripten

import (
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// The calls that programs make most.
func BenchmarkCalls(b *testing.B) {
	k := newKernel(b, Config{Stdout: discard{}})
	file := k.open("f", abi.O_CREAT|abi.O_RDWR, 0o600)
	iov, count := k.words(0x100, 80), k.words(0)
	name := k.put([]byte("f\x00"))
	for _, c := range []struct {
		name, call string
		args       []uint64
	}{
		{"write to stdout", "fd_write", []uint64{1, uint64(iov), 1, uint64(count)}},
		{"write to a file", "fd_pwrite", []uint64{uint64(file), uint64(iov), 1, 0, uint64(count)}},
		{"read from a file", "fd_pread", []uint64{uint64(file), uint64(iov), 1, 0, uint64(count)}},
		{"stat", "__syscall_stat64", []uint64{uint64(name), 0x200}},
		{"clock", "clock_time_get", []uint64{1, 0, 0x200}},
	} {
		fn := k.rows[c.call].Fn
		stack := make([]uint64, len(c.args))
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				copy(stack, c.args)
				fn(k.ctx, stack)
			}
		})
	}
}

// BenchmarkNew is the share of the kernel in starting an interpreter.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		p, err := New(Config{FS: memfs.New(memfs.Options{})})
		if err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}
