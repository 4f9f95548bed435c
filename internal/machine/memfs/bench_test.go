package memfs

import (
	"testing"

	"coderunner/internal/machine/abi"
)

// BenchmarkNew makes what every fresh interpreter needs.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	text := []byte("print('hello')\n")
	for b.Loop() {
		fsys := New(Options{})
		for _, dir := range []string{"/tmp", "/home/user", "/lib/python", "/dev"} {
			fsys.MkdirAll(dir, 0o755)
		}
		for _, file := range []string{"/home/user/main.py", "/home/user/a.txt", "/home/user/b.txt"} {
			fsys.WriteFile(file, text, 0o644)
		}
	}
}

func BenchmarkStat(b *testing.B) {
	fsys := sample(b)
	b.ReportAllocs()
	for b.Loop() {
		n, _ := fsys.Lookup(nil, "/a/b/large", true)
		fsys.Stat(n)
	}
}

func BenchmarkRead(b *testing.B) {
	f := open(b, sample(b), "/a/b/large", abi.O_RDONLY)
	p := make([]byte, 4096)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		f.Pread(bg, p, 65_000)
	}
}

func BenchmarkWrite(b *testing.B) {
	f := open(b, sample(b), "/a/b/large", abi.O_RDWR)
	p := make([]byte, 4096)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		f.Pwrite(bg, p, 65_000)
	}
}

// BenchmarkAppend grows a file in small steps, as a log does.
func BenchmarkAppend(b *testing.B) {
	p := make([]byte, 64)
	b.SetBytes(1 << 20)
	for b.Loop() {
		f := open(b, New(Options{}), "/log", abi.O_WRONLY|abi.O_CREAT|abi.O_APPEND)
		for range 1 << 20 / len(p) {
			f.Write(bg, p)
		}
	}
}

func BenchmarkOpenClose(b *testing.B) {
	fsys := sample(b)
	b.ReportAllocs()
	for b.Loop() {
		open(b, fsys, "/a/hello", abi.O_RDONLY).Close()
	}
}

func BenchmarkPipe(b *testing.B) {
	r, w := pipeOf(b, New(Options{}), 0)
	p := make([]byte, 4096)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		w.Write(bg, p)
		r.Read(bg, p)
	}
}
