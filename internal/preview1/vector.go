package preview1

import (
	"crypto/rand"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/hostfn"
)

// What follows is the same for all guests that import functions of WASI.

const (
	IovMax    = 1024 // buffers of a vector
	iovecSize = 8
	// TransferMax is how much is moved between two looks at the context: the buffers of a
	// vector may be the same memory many times.
	TransferMax = 16 << 20
	CountMax    = 0x7ffff000 // the most that one call moves, as on Linux
)

// Buffers returns the buffers of a vector of n at an address, without those that are empty.
// They are all checked before any is used.
func Buffers(mem hostfn.Mem, at, n uint32) (bufs [][]byte, errno abi.Errno) {
	if n > IovMax {
		return nil, abi.EINVAL
	}
	vector, ok := mem.Bytes(at, n*iovecSize)
	if !ok {
		return nil, abi.EFAULT
	}
	for ; len(vector) > 0; vector = vector[iovecSize:] {
		b, ok := mem.Bytes(le.Uint32(vector), le.Uint32(vector[4:]))
		if !ok {
			return nil, abi.EFAULT
		}
		if len(b) > 0 {
			bufs = append(bufs, b)
		}
	}
	return bufs, abi.OK
}

// Transfer moves bytes between a file and buffers, by move, until one is not filled. An error
// after the first byte is left for the next call to find; of a stream only one buffer is read
// into, for the next may wait. Without buffers move is called once: the descriptor must be good
// even so.
func Transfer(f *memfs.File, bufs [][]byte, move func(b []byte, stream bool) (int, abi.Errno)) (total uint32, errno abi.Errno) {
	stream := f.Node() == nil || f.Node().Type() != abi.S_IFREG
	if len(bufs) == 0 {
		_, errno = move(nil, stream)
		return 0, errno
	}
	for _, b := range bufs {
		for len(b) > 0 {
			part := b[:min(len(b), TransferMax, int(CountMax-total))]
			n, errno := move(part, stream)
			switch total += uint32(n); {
			case errno != abi.OK && total == 0:
				return 0, errno
			case errno != abi.OK || n < len(part) || total == CountMax || stream && f.Flags()&3 != abi.O_WRONLY:
				return total, abi.OK
			}
			b = b[n:]
		}
	}
	return total, abi.OK
}

// PutSizes writes how many texts a list has, and how many bytes with a NUL behind each.
func PutSizes(mem hostfn.Mem, count, bytes uint32, list []string) abi.Errno {
	size := 0
	for _, s := range list {
		size += len(s) + 1
	}
	return fault(mem.PutUint32(count, uint32(len(list))) && mem.PutUint32(bytes, uint32(size)))
}

// PutList writes pointers to the texts of a list, and the texts: there is room for what
// PutSizes has written.
//
//	at ─> [ptr 0][ptr 1]…      to ─> "A=1\0B=2\0…"
func PutList(mem hostfn.Mem, at, to uint32, list []string) abi.Errno {
	for _, s := range list {
		if !mem.PutUint32(at, to) || !mem.Put(to, append([]byte(s), 0)) {
			return abi.EFAULT
		}
		at, to = at+4, to+uint32(len(s))+1
	}
	return abi.OK
}

// Random fills a buffer in parts, and calls check after each: it may be huge.
func Random(b []byte, check func()) {
	for len(b) > 0 {
		n := min(len(b), 1<<20)
		_, _ = rand.Read(b[:n]) // it never fails
		b = b[n:]
		check()
	}
}

func fault(ok bool) abi.Errno {
	if !ok {
		return abi.EFAULT
	}
	return abi.OK
}
