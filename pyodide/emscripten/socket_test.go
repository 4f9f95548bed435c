package emscripten

import (
	"context"
	"testing"

	"coderunner/pyodide/abi"
)

func TestSocket(t *testing.T) {
	k := newKernel(t, Config{})
	fd := int(k.call("socket", afInet, sockStream|sockCloexec|sockNonblock, 6, 0, 0, 0))
	if fd != 3 {
		t.Fatalf("socket: %d", fd)
	}
	k.want(abi.FD_CLOEXEC, "fcntl64", fd, abi.F_GETFD, k.words(0))
	for option, want := range map[int]uint32{soType: sockStream, soDomain: afInet, soProto: 6, soError: 0} {
		value, size := k.words(77), k.words(4)
		k.want(abi.OK, "getsockopt", fd, solSocket, option, value, size, 0)
		if k.word(value) != want {
			t.Errorf("option %d is %d, want %d", option, k.word(value), want)
		}
	}
	k.want(abi.ENOPROTOOPT, "getsockopt", fd, solSocket, 2, k.words(0), k.words(4), 0)
	k.want(abi.ENOPROTOOPT, "getsockopt", fd, 6, soType, k.words(0), k.words(4), 0)

	addr, size := k.put([]byte("????????????????????")), k.words(8)
	k.want(abi.OK, "getsockname", fd, addr, size, 0, 0, 0)
	k.wantMemory(addr, "\x02\x00\x00\x00\x00\x00\x00\x00????")
	if k.word(size) != 16 {
		t.Errorf("a name of %d bytes", k.word(size))
	}
	k.want(abi.EFAULT, "getsockname", fd, memorySize-4, k.words(16), 0, 0, 0)
	k.want(abi.EFAULT, "getsockname", fd, addr, memorySize-2, 0, 0, 0)
	k.want(abi.EINVAL, "getsockname", fd, addr, k.words(0xffffffff), 0, 0, 0)

	for _, name := range []string{"accept4", "bind", "connect", "listen", "sendmsg", "sendto"} {
		k.want(abi.EACCES, name, fd, 0, 0, 0, 0, 0)
	}
	for _, name := range []string{"getpeername", "recvfrom", "recvmsg"} {
		k.want(abi.ENOTCONN, name, fd, 0, 0, 0, 0, 0)
	}
	if _, errno := k.read(fd, 10); errno != abi.ENOTCONN {
		t.Errorf("read: %v", errno)
	}
	if errno := k.write(fd, "x"); errno != abi.ENOTCONN {
		t.Errorf("write: %v", errno)
	}
	k.want(1, "poll", k.words(uint32(fd), uint32(abi.POLLIN|abi.POLLOUT)), 1, -1)
	null := k.open("/dev/null", abi.O_RDWR, 0)
	k.want(abi.ENOTSOCK, "connect", null, 0, 0, 0, 0, 0)
	k.want(abi.OK, "fd_close", fd)
	k.want(abi.EBADF, "connect", fd, 0, 0, 0, 0, 0)
	k.want(abi.EINVAL, "socket", afInet, sockStream|1<<30, 0, 0, 0, 0)
}

// TestMappingsOfFreedMemory: a guest that frees its mappings without munmap
// leaves nothing of them with the host once the memory is used again.
func TestMappingsOfFreedMemory(t *testing.T) {
	k := newKernel(t, Config{})
	at := uint32(0)
	k.p.Guest.Memalign = func(_ context.Context, _, size uint32) uint32 { return at }
	if err := k.p.fs.WriteFile("/f", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	fd := k.open("/f", abi.O_RDWR, 0)
	for at = pageSize; at >= 4096; at -= 4096 { // all overlap the first
		k.want(0, "_mmap_js", 60000, 3, 1, fd, int64(0), 0x100, 0x104)
	}
	if n := len(k.p.mappings); n > 2 {
		t.Errorf("%d mappings of the same memory are kept", n)
	}
	k.want(abi.OK, "fd_close", fd)
	k.p.Close()
	if _, errno := k.p.fs.Lookup(nil, "/f", true); errno != abi.OK {
		t.Fatal(errno)
	}
}
