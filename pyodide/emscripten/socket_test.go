package emscripten

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/pyodide/emscripten/layout"
)

const inet, inet6, local = int(abi.AF_INET), int(abi.AF_INET6), int(abi.AF_UNIX)
const stream, dgram = int(abi.SOCK_STREAM), int(abi.SOCK_DGRAM)

func TestSocket(t *testing.T) {
	k := newKernel(t, Config{})
	fd := int(k.call("socket", inet, abi.SOCK_STREAM|abi.SOCK_CLOEXEC|abi.SOCK_NONBLOCK, 6, 0, 0, 0))
	if fd != 3 {
		t.Fatalf("socket: %d", fd)
	}
	k.want(abi.FD_CLOEXEC, "fcntl64", fd, abi.F_GETFD, k.words(0))
	for option, want := range map[uint32]uint32{abi.SO_TYPE: abi.SOCK_STREAM, abi.SO_DOMAIN: abi.AF_INET, abi.SO_PROTOCOL: 6, abi.SO_ERROR: 0} {
		value, size := k.words(77), k.words(4)
		k.want(abi.OK, "getsockopt", fd, abi.SOL_SOCKET, option, value, size, 0)
		if k.word(value) != want {
			t.Errorf("option %d is %d, want %d", option, k.word(value), want)
		}
	}
	k.want(abi.ENOPROTOOPT, "getsockopt", fd, abi.SOL_SOCKET, 1234, k.words(0), k.words(4), 0)

	addr, size := k.put([]byte("????????????????????")), k.words(8)
	k.want(abi.OK, "getsockname", fd, addr, size, 0, 0, 0)
	k.wantMemory(addr, "\x02\x00\x00\x00\x00\x00\x00\x00????")
	if k.word(size) != 16 {
		t.Errorf("a name of %d bytes", k.word(size))
	}
	k.want(abi.EFAULT, "getsockname", fd, memorySize-4, k.words(16), 0, 0, 0)
	k.want(abi.EFAULT, "getsockname", fd, addr, memorySize-2, 0, 0, 0)
	k.want(abi.EINVAL, "getsockname", fd, addr, k.words(0xffffffff), 0, 0, 0)
	k.want(abi.EINVAL, "connect", fd, addr, 129, 0, 0, 0)
	k.want(abi.EINVAL, "connect", fd, addr, 1, 0, 0, 0)
	k.want(abi.EFAULT, "connect", fd, memorySize-4, 16, 0, 0, 0)
	k.want(abi.ENOTCONN, "getpeername", fd, addr, k.words(16), 0, 0, 0)
	k.want(abi.ENOTCONN, "recvfrom", fd, addr, 4, 0, 0, 0)
	k.want(abi.EPIPE, "sendto", fd, addr, 4, 0, 0, 0)
	k.want(1, "poll", k.words(uint32(fd), uint32(abi.POLLIN|abi.POLLOUT)), 1, -1)
	outside := k.sockaddr(abi.Sockaddr{Family: abi.AF_INET, IP: addrPort("10.0.0.1:80")})
	k.want(abi.EACCES, "connect", fd, outside, 16, 0, 0, 0)
	k.want(abi.EADDRNOTAVAIL, "bind", fd, outside, 16, 0, 0, 0)
	null := k.open("/dev/null", abi.O_RDWR, 0)
	k.want(abi.ENOTSOCK, "connect", null, 0, 0, 0, 0, 0)
	k.want(abi.OK, "fd_close", fd)
	k.want(abi.EBADF, "connect", fd, 0, 0, 0, 0, 0)
	k.want(abi.EINVAL, "socket", inet, stream|1<<30, 0, 0, 0, 0)
	k.want(abi.ESOCKTNOSUPPORT, "socket", inet, 9, 0, 0, 0, 0)
	k.want(abi.EAFNOSUPPORT, "socket", 77, stream, 0, 0, 0, 0)
}

// sockaddr puts an address into memory.
func (k *kernel) sockaddr(a abi.Sockaddr) uint32 { return k.put(layout.EncodeSockaddr(a)) }

func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// listener returns a listening socket and where its address is, for connect.
func (k *kernel) listener() (fd int, addr uint32) {
	fd = int(k.call("socket", inet, stream, 0, 0, 0, 0))
	k.want(abi.OK, "bind", fd, k.sockaddr(abi.Sockaddr{Family: abi.AF_INET, IP: addrPort("127.0.0.1:0")}), 16, 0, 0, 0)
	k.want(abi.OK, "listen", fd, 5, 0, 0, 0, 0)
	addr = k.put(make([]byte, 16))
	k.want(abi.OK, "getsockname", fd, addr, k.words(16), 0, 0, 0)
	return fd, addr
}

func TestConnection(t *testing.T) {
	k := newKernel(t, Config{})
	l, addr := k.listener()
	c := int(k.call("socket", inet, stream, 0, 0, 0, 0))
	k.want(abi.OK, "connect", c, addr, 16, 0, 0, 0)
	from, size := k.put(make([]byte, 16)), k.words(16)
	s := int(k.call("accept4", l, from, size, int(abi.SOCK_CLOEXEC), 0, 0))
	if s != 5 {
		t.Fatalf("accept4: %s", result(int64(s)))
	}
	k.want(abi.FD_CLOEXEC, "fcntl64", s, abi.F_GETFD, k.words(0))
	name := k.put(make([]byte, 16))
	k.want(abi.OK, "getsockname", c, name, k.words(16), 0, 0, 0)
	k.wantMemory(from, string(k.mem[name:name+16]))

	k.want(5, "sendto", c, k.put([]byte("hello")), 5, 0, 0, 0)
	count := k.words(0)
	k.want(abi.OK, "ioctl", s, abi.FIONREAD, k.words(count))
	if k.word(count) != 5 {
		t.Errorf("FIONREAD: %d", k.word(count))
	}
	buf := k.put(make([]byte, 8))
	k.want(2, "recvfrom", s, buf, 2, int(abi.MSG_PEEK), 0, 0)
	k.want(5, "recvfrom", s, buf, 8, 0, 0, 0)
	k.wantMemory(buf, "hello\x00\x00\x00")
	k.want(abi.EAGAIN, "recvfrom", s, buf, 8, int(abi.MSG_DONTWAIT), 0, 0)
	if errno := k.write(s, "by write"); errno != abi.OK {
		t.Errorf("write: %v", errno)
	}
	if got, errno := k.read(c, 20); got != "by write" || errno != abi.OK {
		t.Errorf("read: %q, %v", got, errno)
	}
	how := k.words(77)
	if k.want(1, "_try_shutdown", c, 1, how); k.word(how) != 0 {
		t.Errorf("shutdown: %d", int32(k.word(how)))
	}
	k.want(0, "recvfrom", s, buf, 8, 0, 0, 0)
	if k.want(1, "_try_shutdown", 77, 1, how); abi.Errno(-k.word(how)) != abi.EBADF {
		t.Errorf("shutdown of a bad descriptor: %d", int32(k.word(how)))
	}
}

// TestSocketWaits: a blocking call waits for what another goroutine does, and ends
// when the program is interrupted.
func TestSocketWaits(t *testing.T) {
	k := newKernel(t, Config{})
	fds, errno := k.p.SocketPair(abi.SOCK_STREAM)
	if errno != abi.OK {
		t.Fatal(errno)
	}
	other, _ := k.p.SocketOf(fds[1])
	buf := k.put(make([]byte, 8))
	timer := time.AfterFunc(10*time.Millisecond, func() { other.Write(context.Background(), []byte("late"), true) })
	defer timer.Stop()
	k.want(4, "recvfrom", int(fds[0]), buf, 8, 0, 0, 0)
	again := time.AfterFunc(10*time.Millisecond, func() {
		other.Write(context.Background(), []byte("all "), true)
		time.AfterFunc(10*time.Millisecond, func() { other.Write(context.Background(), []byte("of it"), true) })
	})
	defer again.Stop()
	k.want(8, "recvfrom", int(fds[0]), buf, 8, int(abi.MSG_WAITALL), 0, 0)
	k.wantMemory(buf, "all of i")
	k.want(1, "recvfrom", int(fds[0]), buf, 8, 0, 0, 0)
	k.p.Interrupt()
	k.want(abi.EINTR, "recvfrom", int(fds[0]), buf, 8, 0, 0, 0)
	k.want(abi.OK, "fcntl64", int(fds[0]), abi.F_SETFL, k.words(abi.O_NONBLOCK))
	k.want(abi.EAGAIN, "recvfrom", int(fds[0]), buf, 8, 0, 0, 0)
}

// TestMessages sends a descriptor along.
func TestMessages(t *testing.T) {
	k := newKernel(t, Config{})
	fds, errno := k.p.SocketPair(abi.SOCK_STREAM)
	if errno != abi.OK {
		t.Fatal(errno)
	}
	if err := k.p.fs.WriteFile("/f", []byte("contents"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := k.open("/f", abi.O_RDONLY, 0)
	data := k.put([]byte("ab"))
	iov := k.words(data, 1, data+1, 1)
	control := k.words(16, abi.SOL_SOCKET, abi.SCM_RIGHTS, uint32(f))
	k.want(2, "sendmsg", int(fds[0]), k.words(0, 0, iov, 2, control, 16, 0), 0, 0, 0, 0)
	k.want(abi.OK, "fd_close", f)
	k.open("/f", abi.O_RDONLY, 0) // takes its number
	into, got := k.put(make([]byte, 8)), k.put(make([]byte, 32))
	m := k.words(0, 0, k.words(into, 8), 1, got, 32, 77)
	k.want(2, "recvmsg", int(fds[1]), m, 0, 0, 0, 0)
	k.wantMemory(into, "ab\x00")
	if k.word(m+20) != 16 || k.word(m+24) != 0 {
		t.Errorf("%d bytes of control, flags %#x", k.word(m+20), k.word(m+24))
	}
	if text, errno := k.read(int(k.word(got+12)), 20); text != "contents" || errno != abi.OK {
		t.Errorf("the descriptor reads %q, %v", text, errno)
	}
	bad := k.words(16, abi.SOL_SOCKET, abi.SCM_RIGHTS, 99)
	k.want(abi.EBADF, "sendmsg", int(fds[0]), k.words(0, 0, iov, 2, bad, 16, 0), 0, 0, 0, 0)
	k.want(abi.EINVAL, "sendmsg", int(fds[0]), k.words(0, 0, iov, 2, k.words(0xffffffff, 1, 1), 12, 0), 0, 0, 0, 0)
	// Without room for it the file is closed, and the receiver told.
	k.want(2, "sendmsg", int(fds[0]), k.words(0, 0, iov, 2, control, 16, 0), 0, 0, 0, 0)
	open := k.p.OpenFiles()
	k.want(2, "recvmsg", int(fds[1]), m, 0, 0, 0, 0)
	m = k.words(0, 0, k.words(into, 8), 1, 0, 0, 0)
	k.want(2, "sendmsg", int(fds[0]), k.words(0, 0, iov, 2, control, 16, 0), 0, 0, 0, 0)
	k.want(2, "recvmsg", int(fds[1]), m, 0, 0, 0, 0)
	if k.word(m+24) != abi.MSG_CTRUNC || k.p.OpenFiles() != open+1 {
		t.Errorf("flags %#x, %d more descriptors", k.word(m+24), k.p.OpenFiles()-open)
	}
}

// TestUnixNames: a socket of AF_UNIX has a file, and programs whose C library has
// no such family know its address by an alias.
func TestUnixNames(t *testing.T) {
	k := newKernel(t, Config{})
	l := int(k.call("socket", local, stream, 0, 0, 0, 0))
	path := abi.Sockaddr{Family: abi.AF_UNIX, Path: "s"}
	k.want(abi.OK, "bind", l, k.sockaddr(path), 4, 0, 0, 0)
	k.want(abi.OK, "listen", l, 1, 0, 0, 0, 0)
	if n, errno := k.p.fs.Lookup(nil, "/s", true); errno != abi.OK || n.Type() != abi.S_IFSOCK {
		t.Errorf("the file: %v", errno)
	}
	k.want(abi.ENXIO, "openat", abi.AT_FDCWD, "s", abi.O_RDONLY, k.words(0))
	other := int(k.call("socket", local, stream, 0, 0, 0, 0))
	k.want(abi.EADDRINUSE, "bind", other, k.sockaddr(path), 4, 0, 0, 0)
	k.want(abi.ENOENT, "connect", other, k.sockaddr(abi.Sockaddr{Family: abi.AF_UNIX, Path: "nothing"}), 10, 0, 0, 0)
	if err := k.p.fs.WriteFile("/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	k.want(abi.ECONNREFUSED, "connect", other, k.sockaddr(abi.Sockaddr{Family: abi.AF_UNIX, Path: "f"}), 4, 0, 0, 0)
	alias := abi.Sockaddr{Family: abi.AF_INET, IP: netip.AddrPortFrom(k.p.Alias(path), 0)}
	k.want(abi.OK, "connect", other, k.sockaddr(alias), 16, 0, 0, 0)
	name := k.put(make([]byte, 16))
	k.want(abi.OK, "getpeername", other, name, k.words(16), 0, 0, 0)
	got, errno := layout.DecodeSockaddr(k.mem[name : name+16])
	if errno != abi.OK || got.Family != abi.AF_INET {
		t.Fatalf("the peer's name: %+v, %v", got, errno)
	}
	if real, ok := k.p.Unalias(got.IP.Addr()); !ok || real != path {
		t.Errorf("it stands for %+v", real)
	}
	// To sockets of AF_INET an alias is an address as any other.
	plain := int(k.call("socket", inet, stream, 0, 0, 0, 0))
	k.want(abi.ECONNREFUSED, "connect", plain, k.sockaddr(alias), 16, 0, 0, 0)
	unknown := abi.Sockaddr{Family: abi.AF_INET, IP: addrPort("240.0.99.99:0")}
	k.want(abi.EAFNOSUPPORT, "connect", int(k.call("socket", inet6, dgram, 0, 0, 0, 0)), k.sockaddr(unknown), 16, 0, 0, 0)
}

func TestGetaddrinfo(t *testing.T) {
	k := newKernel(t, Config{})
	at := uint32(0x9000)
	k.p.Guest.Malloc = func(_ context.Context, n uint32) uint32 { at += 0x100; return at }
	out := k.words(0)
	k.want(0, "getaddrinfo", "localhost", "http", k.words(0, abi.AF_INET, abi.SOCK_STREAM, 0), out)
	info := k.word(out)
	if k.word(info+4) != abi.AF_INET || k.word(info+16) != 16 {
		t.Errorf("family %d, %d bytes", k.word(info+4), k.word(info+16))
	}
	k.wantMemory(k.word(info+20), "\x02\x00\x00\x50\x7f\x00\x00\x01")
	k.want(eaiSystem, "getaddrinfo", "example.org", 0, 0, out)
	k.want(eaiNoName, "getaddrinfo", 0, 0, 0, out)
	host, service := k.put([]byte("????????????")), k.put([]byte("????????"))
	addr := k.sockaddr(abi.Sockaddr{Family: abi.AF_INET, IP: addrPort("127.0.0.1:443")})
	k.want(0, "getnameinfo", addr, 16, host, 12, service, 8, 0)
	k.wantMemory(host, "localhost\x00")
	k.wantMemory(service, "https\x00")
	k.want(eaiOverflow, "getnameinfo", addr, 16, host, 3, service, 8, 0)
	if got := k.call("_emscripten_lookup_name", "localhost"); got != 0x0100007f {
		t.Errorf("localhost is %#x", got)
	}
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
